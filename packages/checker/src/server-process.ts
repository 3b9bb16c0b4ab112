/** A server as the player sees it, and one that runs in its own process, over stdio. */
import type { ObservedExchange } from './http/exchange.ts';
import type { Readable, Writable } from 'node:stream';
import { StderrLog, processActor, systemClock } from 'mcp-actors/internal';

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The last characters that it wrote to stderr. */
  readonly stderr?: string;
  /** Why it did not start or, over HTTP, could not be reached. */
  readonly failure?: string;
  /** Over HTTP the conversation has ended, and no process is seen. */
  readonly process?: 'none';
}

/** Takes the output and the end of a server. */
export interface ServerListener {
  /**
   * A line of its output, without the line feed.
   * @param via over HTTP, what brought it
   */
  line(text: string, via?: ObservedExchange): void;
  /** Over HTTP: a request has its status and, unless the answer is a stream, its body. */
  answered?(exchange: ObservedExchange): void;
  /** Over HTTP: no more messages come for what this brought to the server. */
  over?(exchange: ObservedExchange): void;
  /** The server has ended, and all of its output was read. Called once. */
  ended(exit: Exit): void;
}

/** How a request of HTTP differs from what a client should send. */
export interface OddHeaders {
  /** By lower-case names; undefined for a header that is left out. */
  readonly headers: { readonly [name: string]: string | undefined };
  /** For people. */
  readonly note: string;
}

/** What a client may do over HTTP besides sending messages; each waits for its turn. */
export interface HttpMoves {
  /** Opens one more stream of the server's own messages. */
  secondStream(): Promise<void>;
  /** Takes up the stream again that had the first event with an id, after that event. */
  resume(): Promise<void>;
  /** Ends the session. */
  endSession(): Promise<void>;
  /** Sends the methods that the revision has no use for: GET and DELETE. */
  stray(): Promise<void>;
}

/** One run of a server. */
export interface ServerWire {
  /**
   * Sends text as one chunk.
   * @param odd over HTTP, what differs
   */
  send(text: string, odd?: OddHeaders): void;
  /** Absent over stdio. */
  readonly http?: HttpMoves;
  /** Closes its input. */
  end(): void;
  /** Kills it. */
  kill(): void;
  /** Moves the server's clock by `durationMs`; absent if it cannot be moved. */
  passTime?(durationMs: number): Promise<void>;
  /**
   * Resolves once all that the server has left to do waits for time or a message; absent if
   * unknown.
   */
  idle?(): Promise<void>;
}

/** Starts a server. */
export type Launch = (listener: ServerListener) => ServerWire;

/** It is the check that has no more patience, not the process's machine. */
const patience = { inputMs: 2 ** 31 - 1 };

type Environment = ProcessScope['command']['env'];
type ProcessScope = Parameters<typeof processActor>[0];

/** Starts a command as a server, in the working directory of this process and its environment. */
export function launchProcess(command: string, args: readonly string[]): Launch {
  return (listener) =>
    new ProcessWire({ command, args, env: { ...process.env } as Environment }, listener);
}

class ProcessWire implements ServerWire {
  readonly #listener: ServerListener;
  readonly #stderr = new StderrLog();
  readonly #process: ReturnType<typeof processActor>;
  /** Resolves once it runs: what is to be sent, and the end of it, wait for that. */
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
    // Killed before it was started.
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
    // Processes that it started may still run; they are not needed.
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

/** Splits stdout at line feeds. Invalid UTF-8 becomes a line that is not JSON. */
function eachLine(stdout: Readable, take: (line: string) => void): void {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let parts: Buffer[] = [];
  const finish = () => {
    const bytes = Buffer.concat(parts);
    parts = [];
    try {
      take(decoder.decode(bytes));
    } catch {
      take(`(no UTF-8) ${bytes.toString('latin1')}`);
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
