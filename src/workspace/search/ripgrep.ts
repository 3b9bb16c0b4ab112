/** Running ripgrep: records as they come, the process gone when nobody wants more. */
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ToolError } from '../../protocol/errors.ts';
import { systemCode } from '../disk/fs-fault.ts';
import { IgnoreFiles } from './ignore-files.ts';
import { findBinary } from './ripgrep-binary.ts';
import { readMessages } from './ripgrep-messages.ts';
import type { MessageListeners } from './ripgrep-messages.ts';
import { openRoot } from '../roots/root-directory.ts';
import type { RootDirectory } from '../roots/root-directory.ts';
import { isSliceOver, nextSlice } from '../globs/time-slices.ts';

export interface RipgrepRun {
  /** Options and the paths to search; see {@link ripgrepArguments}. */
  readonly args: readonly string[];
  /** The directory that it runs in: paths in `args` and in what it gives are relative to it. */
  readonly root: RootDirectory;
  /** Kills the process; the iteration then throws the signal's reason. */
  readonly signal: AbortSignal;
  /** Kills the process; the iteration then ends, and its reason is among the problems. */
  readonly deadline?: AbortSignal;
  /** What ends a record: `\n` for `--json`, NUL for `--null`. */
  readonly separator: '\n' | '\0';
  /** What the process reads from its stdin; nothing by default. An error of it ends the iteration. */
  readonly input?: AsyncIterable<Buffer>;
  /** Told, with `--max-filesize`, which files are larger and were left out. */
  readonly onTooLarge?: (path: string) => void;
  /** Told once, when ripgrep has ended by itself or at the deadline. */
  readonly onEnd?: (end: RipgrepEnd) => void;
}

export interface RipgrepEnd {
  /** What could not be read, one line each: ripgrep has gone on without it. */
  readonly problems: readonly string[];
}

export interface RipgrepRecord {
  readonly bytes: Buffer;
  /** True if the record was longer than 4 MiB and `bytes` is only its beginning. */
  readonly cut: boolean;
}

const maxRecordBytes = 4 * 1024 * 1024;

/**
 * Options of every run: nobody's configuration file, no links followed, the same paths on every system. The sizes bound what a
 * pattern costs; by default ripgrep allows it a hundred times as much.
 */
export const ripgrepArguments: readonly string[] = [
  '--no-config',
  '--no-follow',
  '--no-require-git',
  '--color=never',
  '--path-separator=/',
  '--no-mmap',
  // Says which files it leaves out, and which it takes such rules from.
  '--debug',
  '--threads=4',
  '--regex-size-limit=10M',
  '--dfa-size-limit=4M',
];

/**
 * Runs ripgrep and gives its records as they come. Leaving the loop early kills the process; it reads on only as fast as the records
 * are taken. The child never has our stdin or stdout.
 *
 * The child does not outlive this process: it is killed at our exit. If this process is killed itself, the child ends when it next
 * writes, or at once if it reads `input`.
 *
 * @throws {ToolError} SEARCH_FAILED with ripgrep's own words where it could not begin (a broken pattern, for one), SEARCH_UNAVAILABLE
 *   where there is no binary for this platform, ROOT_UNAVAILABLE; the signal's reason
 */
export async function* ripgrep(run: RipgrepRun): AsyncGenerator<RipgrepRecord, void, void> {
  const { deadline, onTooLarge } = run;
  // Fires also if this run has to end for a reason of its own.
  const own = new AbortController();
  const signal = AbortSignal.any([run.signal, own.signal]);
  signal.throwIfAborted();
  const ignoreFiles = new IgnoreFiles(run.root.path, (error) => own.abort(error));
  const onIgnoreFile = (path: string) => ignoreFiles.add(path);
  const { child, ended, messages } = await start(run, { onTooLarge, onIgnoreFile });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  deadline?.addEventListener('abort', kill, { once: true });
  feed(child, run.input, (error) => own.abort(error));
  let count = 0;
  try {
    if (signal.aborted || deadline?.aborted === true) kill();
    for await (const record of splitRecords(child.stdout, run)) {
      // What is done with the records counts, too: they come faster than a busy loop turns.
      if (isSliceOver()) await nextSlice(signal);
      signal.throwIfAborted();
      count += 1;
      yield record;
    }
    const code = await ended;
    await ignoreFiles.checked();
    signal.throwIfAborted();
    if (deadline?.aborted === true) {
      const { message } = deadline.reason as Error;
      run.onEnd?.({ problems: [message, ...linesOf(messages())] });
      return;
    }
    // 0: something was found; 1: nothing; 2: an error, after which it has gone on if it has written anything.
    const usable = code === 0 || code === 1 || (code === 2 && count > 0);
    if (!usable) throw failed(messages(), code);
    run.onEnd?.({ problems: code === 2 ? linesOf(messages()) : [] });
  } finally {
    signal.removeEventListener('abort', kill);
    deadline?.removeEventListener('abort', kill);
    kill();
    // The process has gone before the caller goes on: no orphan, no zombie.
    await ended;
  }
}

function linesOf(text: string): string[] {
  return text.split('\n').filter(Boolean);
}

function failed(stderr: string, code: number | null): ToolError {
  const words = stderr.replace(/^rg: /, '').trim();
  return new ToolError(words === '' ? `ripgrep ended with code ${code}` : words, {
    code: 'SEARCH_FAILED',
  });
}

/** Writes the input to the child. */
function feed(
  child: RipgrepProcess,
  input: AsyncIterable<Buffer> = nothing(),
  onFault: (error: unknown) => void,
): void {
  const guarded = async function* (): AsyncGenerator<Buffer, void, void> {
    try {
      yield* input;
    } catch (error) {
      onFault(error);
    }
  };
  // What fails then is the pipe of a child that has gone: its exit code says why.
  pipeline(guarded, child.stdin).catch(() => {});
}

async function* nothing(): AsyncGenerator<Buffer, void, void> {}

type RipgrepProcess = ChildProcessByStdio<Writable, Readable, Readable>;

interface Started {
  readonly child: RipgrepProcess;
  /** Its exit code, once it has gone and its output has been read; null if it was killed. */
  readonly ended: Promise<number | null>;
  /** The problems that it has written of so far. */
  readonly messages: () => string;
}

async function start(run: RipgrepRun, listeners: MessageListeners): Promise<Started> {
  const binary = await findBinary();
  const { cwd, confirm, close } = await openRoot(run.root);
  try {
    const started = await launch(binary, run.args, cwd, listeners);
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

async function launch(
  binary: string,
  args: readonly string[],
  cwd: string,
  listeners: MessageListeners,
): Promise<Started> {
  try {
    // Loaded with the first search, as its binary is.
    const { spawn } = await import('node:child_process');
    const child = spawn(binary, args, { cwd, stdio: 'pipe', windowsHide: true });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    // Only then are its streams sure to be there.
    await once(child, 'spawn');
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    void ended.then(() => process.off('exit', kill));
    // Node throws away what nobody listens for when the child exits.
    child.stdout.on('readable', () => {});
    return { child, ended, messages: readMessages(child.stderr, listeners) };
  } catch (error) {
    const why = systemCode(error) ?? String(error);
    const message = `ripgrep could not be started (${why})`;
    throw new ToolError(message, { code: 'SEARCH_FAILED', cause: error });
  }
}

async function* splitRecords(
  chunks: AsyncIterable<Buffer>,
  { separator, deadline }: Pick<RipgrepRun, 'separator' | 'deadline'>,
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
  // What a killed process has left is no record.
  if (size > 0 && deadline?.aborted !== true) yield { bytes: Buffer.concat(parts), cut };
}
