/** Interface of a played server, and its implementation as a child process over stdio. */
import type { ObservedExchange } from './http/exchange.ts';
import type { Readable, Writable } from 'node:stream';
import { StderrLog, processActor, systemClock } from 'mcp-actors/internal';

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** End of its stderr output. */
  readonly stderr?: string;
  /** Reason it did not start or, over HTTP, could not be reached. */
  readonly failure?: string;
  /** Over HTTP: the conversation has ended; the process is invisible. */
  readonly process?: 'none';
}

/** Receives the output and the end of a server. */
export interface ServerListener {
  /**
   * Called with a line of output, without the line feed.
   * @param via the exchange that carried it, over HTTP
   */
  line(text: string, via?: ObservedExchange): void;
  /**
   * Over HTTP: called when a request has its status and, unless the response is a stream, its body.
   */
  answered?(exchange: ObservedExchange): void;
  /** Over HTTP: called when no more messages can arrive for an exchange. */
  over?(exchange: ObservedExchange): void;
  /** Called once, when the server has ended and its output is read. */
  ended(exit: Exit): void;
}

/** Deliberate deviations of an HTTP request from valid headers. */
export interface OddHeaders {
  /** Header values by lower-case name; undefined removes a header. */
  readonly headers: { readonly [name: string]: string | undefined };
  /** Readable description. */
  readonly note: string;
}

/** HTTP actions of a client besides sending messages; executed in order. */
export interface HttpMoves {
  /** Opens another stream for server-initiated messages. */
  secondStream(): Promise<void>;
  /** Resumes the stream of the first event with an id, after that event. */
  resume(): Promise<void>;
  /** Ends the session. */
  endSession(): Promise<void>;
  /** Sends GET and DELETE, which the revision does not define. */
  stray(): Promise<void>;
}

/** One run of a server. */
export interface ServerWire {
  /**
   * Sends text as one chunk.
   * @param odd deviations, over HTTP
   */
  send(text: string, odd?: OddHeaders): void;
  /** Undefined over stdio. */
  readonly http?: HttpMoves;
  /** Closes the input. */
  end(): void;
  /** Kills the server. */
  kill(): void;
  /** Advances the server's clock by `durationMs`; undefined if impossible. */
  passTime?(durationMs: number): Promise<void>;
  /** Resolves once the server only waits for time or messages; undefined if unknown. */
  idle?(): Promise<void>;
}

/** Starts a server. */
export type Launch = (listener: ServerListener) => ServerWire;

/** The check has its own time limits, so the process machine must not time out. */
const patience = { inputMs: 2 ** 31 - 1 };

type Environment = ProcessScope['command']['env'];
type ProcessScope = Parameters<typeof processActor>[0];

/** Creates a launcher for a command that inherits the working directory and environment. */
export function launchProcess(command: string, args: readonly string[]): Launch {
  return (listener) =>
    new ProcessWire({ command, args, env: { ...process.env } as Environment }, listener);
}

class ProcessWire implements ServerWire {
  readonly #listener: ServerListener;
  readonly #stderr = new StderrLog();
  readonly #process: ReturnType<typeof processActor>;
  /** Resolves once the process runs; sending and ending wait for it. */
  readonly #stdin: Promise<Writable>;
  #exit: Exit | undefined;

  constructor(command: ProcessScope['command'], listener: ServerListener) {
    this.#listener = listener;
    let launched: (stdin: Writable) => void = () => {};
    this.#stdin = new Promise((resolve) => {
      launched = resolve;
    });
    const scope: ProcessScope = {
      command,
      isWatched: true,
      stderr: { push: (chunk) => void this.#stderr.push(chunk), end: () => {} },
      clock: systemClock,
      report: () => {},
      launched: (pipes) => {
        eachLine(pipes.stdout, (line) => listener.line(line));
        launched(pipes.stdin);
      },
    };
    this.#process = processActor(scope, patience);
    this.#process.on('process.failed', ({ error }) => {
      this.#ended({ code: null, signal: null, failure: (error as Error).message });
    });
    this.#process.on('process.exited', (exit) => this.#exited(exit));
    // Killed before it started.
    this.#process.on('process.gone', () => this.#ended({ code: null, signal: null }));
    this.#process.start();
  }

  send(text: string): void {
    void this.#stdin.then((stdin) => {
      if (stdin.writable) stdin.write(text);
    });
  }

  end(): void {
    void this.#stdin.then(() => this.#tell('process.stop'));
  }

  kill(): void {
    this.#tell('process.kill');
  }

  #exited({ code, signal }: Pick<Exit, 'code' | 'signal'>): void {
    this.#ended({ code, signal, stderr: this.#stderr.lastLines() });
    // Stop child processes it left running.
    this.#tell('process.kill');
  }

  #ended(exit: Exit): void {
    if (this.#exit) return;
    this.#exit = exit;
    this.#listener.ended(exit);
  }

  #tell(type: 'process.stop' | 'process.kill'): void {
    if (this.#process.getSnapshot().status === 'active') this.#process.send({ type });
  }
}

/** Splits stdout into lines. Invalid UTF-8 becomes a line that is not JSON. */
function eachLine(stdout: Readable, take: (line: string) => void): void {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let parts: Buffer[] = [];
  const finish = () => {
    const bytes = Buffer.concat(parts);
    parts = [];
    try {
      take(decoder.decode(bytes));
    } catch {
      take(`(not UTF-8) ${bytes.toString('latin1')}`);
    }
  };
  stdout.on('data', (chunk: Buffer) => {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, at));
      finish();
      from = at + 1;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
  });
  stdout.on('end', () => {
    if (parts.length > 0) finish();
  });
}
