/** Running ripgrep: records as they come, the process gone when nobody wants more. */
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { ToolError } from '../protocol/errors.ts';
import { systemCode } from './fs-fault.ts';
import { openRoot } from './root-directory.ts';
import type { RootDirectory } from './root-directory.ts';
import { isSliceOver, nextSlice } from './time-slices.ts';

export interface RipgrepRun {
  /** Options and the paths to search; see {@link ripgrepArguments}. */
  readonly args: readonly string[];
  /** The directory that it runs in: paths in `args` and in what it gives are relative to it. */
  readonly root: RootDirectory;
  /** Kills the process; the iteration then throws the signal's reason. */
  readonly signal: AbortSignal;
  /** What ends a record: `\n` for `--json`, NUL for `--files --null`. */
  readonly separator: '\n' | '\0';
  /** Told once, when ripgrep has ended by itself. */
  readonly onEnd?: (end: RipgrepEnd) => void;
}

export interface RipgrepEnd {
  /** What could not be read, one line each: ripgrep has gone on without it. */
  readonly problems: readonly string[];
}

export interface RipgrepRecord {
  readonly bytes: Buffer;
  /** True where the record was longer than a MiB and `bytes` is only its beginning. */
  readonly cut: boolean;
}

const maxRecordBytes = 1024 * 1024;
const maxStderrBytes = 64 * 1024;

/** Options of every run: nobody's configuration file, no links followed, the same paths on every system. */
export const ripgrepArguments: readonly string[] = [
  '--no-config',
  '--no-follow',
  '--no-require-git',
  '--color=never',
  '--path-separator=/',
];

/**
 * Runs ripgrep and gives its records as they come. Leaving the loop early kills the process; it reads on only as fast as the records
 * are taken. The child has no stdin and never our stdout.
 *
 * @throws {ToolError} SEARCH_FAILED with ripgrep's own words where it could not begin (a broken pattern, for one), SEARCH_UNAVAILABLE
 *   where there is no binary for this platform, ROOT_UNAVAILABLE; the signal's reason
 */
export async function* ripgrep(run: RipgrepRun): AsyncGenerator<RipgrepRecord, void, void> {
  const { signal } = run;
  signal.throwIfAborted();
  const { child, ended } = await start(await binaryPath(), run);
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  const stderr = keepTail(child);
  let count = 0;
  try {
    if (signal.aborted) kill();
    for await (const record of splitRecords(child.stdout, run.separator)) {
      // What is done with the records counts, too: they come faster than a busy loop turns.
      if (isSliceOver()) await nextSlice(signal);
      signal.throwIfAborted();
      count += 1;
      yield record;
    }
    const code = await ended;
    signal.throwIfAborted();
    // 0: something was found; 1: nothing; 2: an error, after which it has gone on if it has written anything.
    const usable = code === 0 || code === 1 || (code === 2 && count > 0);
    if (!usable) throw failed(stderr(), code);
    run.onEnd?.({ problems: code === 2 ? stderr().split('\n').filter(Boolean) : [] });
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
    // The process has gone before the caller goes on: no orphan, no zombie.
    await ended;
  }
}

function failed(stderr: string, code: number | null): ToolError {
  const words = stderr.replace(/^rg: /, '').trim();
  return new ToolError(words === '' ? `ripgrep ended with code ${code}` : words, {
    code: 'SEARCH_FAILED',
  });
}

/** Where the package keeps the binary; loaded at the first search, because a session's first messages need none. */
async function binaryPath(): Promise<string> {
  try {
    const { rgPath } = await import('@vscode/ripgrep');
    return rgPath;
  } catch (error) {
    const message = `Searching needs ripgrep, and there is no binary for ${process.platform} ${process.arch}: install the optional dependencies of mcp-actors`;
    throw new ToolError(message, { code: 'SEARCH_UNAVAILABLE', cause: error });
  }
}

type RipgrepProcess = ChildProcessByStdio<null, Readable, Readable>;

interface Started {
  readonly child: RipgrepProcess;
  /** Its exit code, once it has gone and its output has been read; null if it was killed. */
  readonly ended: Promise<number | null>;
}

async function start(binary: string, { args, root }: RipgrepRun): Promise<Started> {
  const { cwd, confirm, close } = await openRoot(root);
  try {
    const started = await launch(binary, args, cwd);
    try {
      await confirm();
    } catch (error) {
      started.child.kill('SIGKILL');
      await started.ended;
      throw error;
    }
    return started;
  } finally {
    await close();
  }
}

async function launch(binary: string, args: readonly string[], cwd: string): Promise<Started> {
  try {
    // Loaded with the first search, as its binary is.
    const { spawn } = await import('node:child_process');
    const child = spawn(binary, args, {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    // Only then are its streams sure to be there.
    await once(child, 'spawn');
    return { child, ended };
  } catch (error) {
    const why = systemCode(error) ?? String(error);
    const message = `ripgrep could not be started (${why})`;
    throw new ToolError(message, { code: 'SEARCH_FAILED', cause: error });
  }
}

function keepTail({ stderr }: RipgrepProcess): () => string {
  let kept = '';
  stderr.setEncoding('utf8');
  stderr.on('data', (chunk: string) => {
    kept = (kept + chunk).slice(-maxStderrBytes);
  });
  return () => kept;
}

async function* splitRecords(
  chunks: AsyncIterable<Buffer>,
  separator: '\n' | '\0',
): AsyncGenerator<RipgrepRecord, void, void> {
  const mark = separator.charCodeAt(0);
  let parts: Buffer[] = [];
  let size = 0;
  let cut = false;
  const keep = (part: Buffer) => {
    const room = maxRecordBytes - size;
    cut ||= part.length > room;
    if (room > 0) parts.push(part.subarray(0, room));
    size += Math.min(part.length, Math.max(room, 0));
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(mark); end !== -1; end = chunk.indexOf(mark, start)) {
      keep(chunk.subarray(start, end));
      yield { bytes: Buffer.concat(parts), cut };
      [parts, size, cut] = [[], 0, false];
      start = end + 1;
    }
    if (start < chunk.length) keep(chunk.subarray(start));
  }
  if (size > 0) yield { bytes: Buffer.concat(parts), cut };
}
