/**
 * One process of ripgrep, and its end. A thread of it that waits for a dead network mount sits in
 * the kernel, and no signal reaches it; we must not wait with it.
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

/** How long a killed process may take to go, milliseconds; then it is left to the system. */
const endTimeoutMs = 1000;
/** How many processes may be left behind before no other is started. */
const maxLeftBehind = 8;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export interface RipgrepProcess {
  /** Its stdout in chunks; ends early once it is killed. */
  output(): AsyncGenerator<Buffer, void, void>;
  /** The problems that it has written of so far. */
  problems(): string;
  /** Writes its stdin, to the end of `input`. */
  feed(input: AsyncIterable<Buffer>, onFault: (error: unknown) => void): void;
  /**
   * Its exit code, once it has gone and its output has been read; null if it was killed. Comes at
   * most a second after `kill`, even if the system cannot end it.
   */
  readonly ended: Promise<number | null>;
  /** Ends it, and its streams with what they still hold. */
  kill(): void;
}

/** Killed ones that have not gone, of all sessions of this process. */
const leftBehind = new Set<Child>();

/**
 * Starts ripgrep in a root. It is killed at our exit.
 *
 * @throws {ToolError} SEARCH_UNAVAILABLE if there is no binary for this platform or too many
 *   processes hang, SEARCH_FAILED if the system cannot start it, ROOT_UNAVAILABLE
 */
export async function startRipgrep(
  args: readonly string[],
  root: RootDirectory,
  listeners: MessageListeners,
): Promise<RipgrepProcess> {
  if (leftBehind.size >= maxLeftBehind) {
    const message = `${leftBehind.size} searches before this one hang in a file system that does not answer, as a network mount does whose server is gone. Unmount it or bring it back, then try again`;
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
    // Loaded with the first search, as its binary is.
    const { spawn } = await import('node:child_process');
    const child = spawn(binary, args, { cwd, stdio: 'pipe', windowsHide: true });
    // Only then are its streams sure to be there.
    await once(child, 'spawn');
    return child;
  } catch (error) {
    const why = disk.systemCode(error) ?? String(error);
    const message = `ripgrep could not be started (${why})`;
    throw new ToolError(message, { code: 'SEARCH_FAILED', cause: error });
  }
}

function superviseChild(child: Child, listeners: MessageListeners): RipgrepProcess {
  let closing = closingChart.begun;
  const expiry = new AbortController();
  const kill = (): void => {
    if (closing.value !== 'open') return;
    closing = closingChart.next(closing, { type: 'close.begin' });
    child.kill('SIGKILL');
    // Another process may hold the other ends: then they would never close by themselves.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    const timer = setTimeout(() => expiry.abort(), endTimeoutMs);
    child.once('close', () => clearTimeout(timer));
  };
  process.once('exit', kill);
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      closing = closingChart.next(closing, { type: 'close.done' });
      process.off('exit', kill);
      leftBehind.delete(child);
      resolve(code);
    });
    expiry.signal.addEventListener('abort', () => {
      process.off('exit', kill);
      leftBehind.add(child);
      child.unref();
      resolve(null);
    });
  });
  // Node throws away what nobody listens for when the child exits.
  child.stdout.on('readable', () => {});
  return {
    async *output() {
      try {
        yield* child.stdout;
      } catch (error) {
        // Without an error of its own it was closed before its end, by ourselves.
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
      // What fails then is the pipe of a child that has gone: its exit code says why.
      pipeline(guarded, child.stdin).catch(() => {});
    },
    ended,
    kill,
  };
}
