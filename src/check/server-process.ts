/** A server as the player sees it, and one that runs in its own process, over stdio. */
import type { Exchange } from './http/exchange.ts';
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';

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
  line(text: string, via?: Exchange): void;
  /** Over HTTP: a request has its status and, unless the answer is a stream, its body. */
  answered?(exchange: Exchange): void;
  /** Over HTTP: no more messages come for what this brought to the server. */
  over?(exchange: Exchange): void;
  /** The server has ended, and all of its output was read. Called once. */
  ended(exit: Exit): void;
}

/** How a request of HTTP differs from what a client should send. */
export interface OddHeaders {
  /** By lower-case names; undefined where one is left out. */
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

/** The running servers. They are killed when this process ends. */
const running = new Set<ChildProcessWithoutNullStreams>();
process.on('exit', () => {
  for (const child of running) killGroup(child);
});

/** How many of the last characters of stderr are kept. */
const keptStderr = 2000;

/** Starts a command as a server, in the working directory of this process. */
export function launchProcess(command: string, args: readonly string[]): Launch {
  return (listener) => {
    // In a group of its own, so that what a wrapper such as npx has started ends with it.
    const child = spawn(command, args, { stdio: 'pipe', detached: process.platform !== 'win32' });
    running.add(child);
    let failure: string | undefined;
    let stderr = '';
    const ended = (exit: Exit) => {
      if (!running.delete(child)) return;
      // Processes that it started may still run.
      killGroup(child);
      listener.ended(exit);
    };
    child.on('error', (error) => {
      failure = error.message;
      if (child.pid === undefined) ended({ code: null, signal: null, failure });
    });
    child.on('close', (code, signal) =>
      ended({ code, signal, stderr, ...(failure ? { failure } : {}) }),
    );
    // It may end before it has read everything.
    child.stdin.on('error', () => {});
    child.stderr.setEncoding('utf8');
    child.stderr.on('data', (text: string) => {
      stderr = (stderr + text).slice(-keptStderr);
    });
    eachLine(child, (line) => listener.line(line));
    return {
      send: (text) => {
        if (child.stdin.writable) child.stdin.write(text);
      },
      end: () => child.stdin.end(),
      kill: () => {
        if (running.has(child)) killGroup(child);
      },
    };
  };
}

/** Splits stdout at line feeds. Invalid UTF-8 becomes a line that is not JSON. */
function eachLine({ stdout }: ChildProcessWithoutNullStreams, take: (line: string) => void): void {
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

function killGroup({ pid }: ChildProcessWithoutNullStreams): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch (error) {
    // It has ended in the meantime.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
