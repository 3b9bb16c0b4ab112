/**
 * One ripgrep process and its termination. A thread blocked on a dead network mount cannot be
 * killed, so we never wait for it indefinitely.
 */
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { closingChart, disk } from 'mcp-actors/internal';
import { openRoot } from 'mcp-actors/roots';
import type { RootDirectory } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import { findBinary } from './ripgrep-binary.ts';
import { readMessages } from './ripgrep-output.ts';
import type { MessageListeners } from './ripgrep-output.ts';

/** Time for a killed process to exit, ms; afterwards it is abandoned. */
const endTimeoutMs = 1000;
/** Number of abandoned processes above which no other is started. */
const maxAbandoned = 8;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export interface RipgrepProcess {
  /** Stdout in chunks; ends early once the process is killed. */
  output(): AsyncGenerator<Buffer, void, void>;
  /** Problems written to stderr so far. */
  problems(): string;
  /** Writes all of `input` to stdin. */
  feed(input: AsyncIterable<Buffer>, onFault: (error: unknown) => void): void;
  /**
   * Exit code, once the process has exited and its output is read; null if killed. Settles at most
   * a second after `kill`, even if the system cannot end the process.
   */
  readonly ended: Promise<number | null>;
  /** Kills the process and discards the rest of its output. */
  kill(): void;
}

/** Killed processes of all sessions that have not exited. */
const abandoned = new Set<Child>();

/**
 * Starts ripgrep in a root. It is killed when this process exits.
 *
 * @throws {ToolError} SEARCH_UNAVAILABLE if there is no binary for this platform or too many
 * processes hang, SEARCH_FAILED if the system cannot start it, ROOT_UNAVAILABLE
 */
export async function startRipgrep(
  args: readonly string[],
  root: RootDirectory,
  listeners: MessageListeners,
): Promise<RipgrepProcess> {
  if (abandoned.size >= maxAbandoned) {
    const message = `${abandoned.size} earlier searches hang in a file system that does not respond, such as a dead network mount. Unmount or restore it, then try again`;
    throw new ToolError(message, { code: 'SEARCH_UNAVAILABLE' });
  }
  const binary = await findBinary();
  const { cwd, confirm, close } = await openRoot(root);
  try {
    const started = superviseChild(await spawnChild(binary, args, cwd), listeners);
    try {
      await confirm();
    } catch (error) {
      started.kill();
      await started.ended;
      throw error;
    }
    return started;
  } finally {
    await close();
  }
}

async function spawnChild(binary: string, args: readonly string[], cwd: string): Promise<Child> {
  try {
    // Loaded with the first search, like the binary.
    const { spawn } = await import('node:child_process');
    const child = spawn(binary, args, { cwd, stdio: 'pipe', windowsHide: true });
    // The streams are only guaranteed to exist after `spawn`.
    await once(child, 'spawn');
    return child;
  } catch (error) {
    const why = disk.systemCode(error) ?? String(error);
    const message = `ripgrep could not be started (${why})`;
    throw new ToolError(message, { code: 'SEARCH_FAILED', cause: error });
  }
}

function superviseChild(child: Child, listeners: MessageListeners): RipgrepProcess {
  let closing = closingChart.initial;
  const expiry = new AbortController();
  const kill = (): void => {
    if (closing.value !== 'open') return;
    closing = closingChart.next(closing, { type: 'close.begin' });
    child.kill('SIGKILL');
    // Another process may hold the other ends of the pipes, so they would never close by
    // themselves.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    const timer = setTimeout(() => expiry.abort(), endTimeoutMs);
    child.once('close', () => clearTimeout(timer));
  };
  process.once('exit', kill);
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      closing = closingChart.next(closing, { type: 'close.done' });
      process.off('exit', kill);
      abandoned.delete(child);
      resolve(code);
    });
    expiry.signal.addEventListener('abort', () => {
      process.off('exit', kill);
      abandoned.add(child);
      child.unref();
      resolve(null);
    });
  });
  // Without a listener, Node discards unread output when the child exits.
  child.stdout.on('readable', () => {});
  return {
    async *output() {
      try {
        yield* child.stdout;
      } catch (error) {
        // Without a stream error, we destroyed the stream ourselves.
        if (child.stdout.errored) throw error;
      }
    },
    problems: readMessages(child.stderr, listeners),
    feed(input, onFault) {
      const guarded = async function* (): AsyncGenerator<Buffer, void, void> {
        try {
          yield* input;
        } catch (error) {
          onFault(error);
        }
      };
      // Only the pipe of an exited child fails here; its exit code has the reason.
      pipeline(guarded, child.stdin).catch(() => {});
    },
    ended,
    kill,
  };
}
