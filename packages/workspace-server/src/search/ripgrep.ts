/** Running ripgrep: records as they come, the process gone when nobody wants more. */
import { constants } from 'node:os';
import { disk, quoted } from 'mcp-actors/internal';
import type { RootDirectory } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import { isSliceOver, nextSlice } from '../globs/time-slices.ts';
import { IgnoreFiles } from './ignore-files.ts';
import type { MessageListeners, RecordReader } from './ripgrep-output.ts';
import { startRipgrep } from './ripgrep-process.ts';

export interface RipgrepRun<T> {
  /** Options and the paths to search; see {@link ripgrepArguments}. */
  readonly args: readonly string[];
  /** The directory that it runs in: paths in `args` and in what it gives are relative to it. */
  readonly root: RootDirectory;
  /** Kills the process; the iteration then throws the signal's reason. */
  readonly signal: AbortSignal;
  /** Kills the process; the iteration then ends, and its reason is among the problems. */
  readonly deadline?: AbortSignal;
  /** Cuts what it prints into records. */
  readonly records: RecordReader<T>;
  /**
   * What the process reads from its stdin; nothing by default. An error of it ends the iteration.
   */
  readonly input?: AsyncIterable<Buffer>;
  /** Told, with `--debug`, which paths were left out. */
  readonly onLeftOut?: MessageListeners['onLeftOut'];
  /** Called, with `--debug`, with paths that a rule of git has included, if a brace is in the rule or in the path. */
  readonly onIncluded?: MessageListeners['onIncluded'];
  /** Called, with `--debug`, with each file of rules that was opened. */
  readonly onIgnoreFile?: MessageListeners['onIgnoreFile'];
  /** Told once, when ripgrep has ended by itself or at the deadline. */
  readonly onEnd?: (end: RipgrepEnd) => void;
}

export interface RipgrepEnd {
  /** What could not be read, one line each: ripgrep has gone on without it. */
  readonly problems: readonly string[];
}

/**
 * Options of every run: nobody's configuration file, no links followed, the same paths on every
 * system. The sizes bound what a pattern costs; by default ripgrep allows it a hundred times as
 * much.
 */
export const ripgrepArguments: readonly string[] = [
  '--no-config',
  '--no-follow',
  '--no-require-git',
  '--color=never',
  '--path-separator=/',
  '--no-mmap',
  '--threads=4',
  '--regex-size-limit=10M',
  '--dfa-size-limit=4M',
];

/**
 * Runs ripgrep and gives its records as they come. Leaving the loop early kills the process; it
 * reads on only as fast as the records are taken. The child never has our stdin or stdout.
 *
 * The child does not outlive this process: it is killed at our exit. If this process is killed
 * itself, the child ends when it next writes, or at once if it reads `input`. A killed child that
 * does not end within a second, because its threads wait for a dead mount, is left behind.
 *
 * @throws {ToolError} SEARCH_FAILED with ripgrep's own words if it could not begin (a broken
 *   pattern, for one), and what `startRipgrep` throws; the signal's reason
 */
export async function* ripgrep<T>(run: RipgrepRun<T>): AsyncGenerator<T, void, void> {
  const { deadline, onLeftOut, onIncluded, records } = run;
  // Fires also if this run has to end for a reason of its own.
  const own = new AbortController();
  const signal = AbortSignal.any([run.signal, own.signal]);
  signal.throwIfAborted();
  const ignoreFiles = new IgnoreFiles(run.root.path, (error) => own.abort(error));
  const onIgnoreFile = (path: string): void => {
    ignoreFiles.add(path);
    run.onIgnoreFile?.(path);
  };
  const listeners = { onLeftOut, onIncluded, onIgnoreFile };
  const child = await startRipgrep(run.args, run.root, listeners);
  signal.addEventListener('abort', child.kill, { once: true });
  deadline?.addEventListener('abort', child.kill, { once: true });
  child.feed(run.input ?? nothing(), (error) => own.abort(error));
  let bytes = 0;
  try {
    if (signal.aborted || deadline?.aborted === true) child.kill();
    for await (const chunk of child.output()) {
      bytes += chunk.length;
      for (const record of records.add(chunk)) {
        // What is done with the records counts, too: they come faster than a busy loop turns.
        if (isSliceOver()) await nextSlice(signal);
        signal.throwIfAborted();
        yield record;
      }
    }
    const code = await child.ended;
    signal.throwIfAborted();
    if (deadline?.aborted === true) {
      // The last record may be a part, and nobody asks files that hang.
      const { message } = deadline.reason as Error;
      run.onEnd?.({ problems: [message, ...linesOf(child.problems()).map(inOurWords)] });
      return;
    }
    yield* records.end();
    await ignoreFiles.checked();
    signal.throwIfAborted();
    // 0: something was found; 1: nothing; 2: an error, after which it has gone on if it has written
    // anything, or only files that could not be read.
    const lines = linesOf(child.problems());
    const isGoingOn = bytes > 0 || (lines.length > 0 && lines.every(isSurvived));
    const usable = code === 0 || code === 1 || (code === 2 && isGoingOn);
    if (!usable) throw failed(child.problems(), code);
    const problems = lines.filter((line) => !isOfGitRule(line)).map(inOurWords);
    run.onEnd?.({ problems: code === 2 ? problems : [] });
  } finally {
    signal.removeEventListener('abort', child.kill);
    deadline?.removeEventListener('abort', child.kill);
    child.kill();
    // The process has gone before the caller goes on: no orphan, no zombie.
    await child.ended;
  }
}

const systemErrors = Object.entries(constants.errno);

function linesOf(text: string): string[] {
  return text.split('\n').filter(Boolean);
}

/** True if ripgrep has gone on: with the next file or without a rule. */
function isSurvived(problem: string): boolean {
  return /^rg: .*\(os error \d+\)$/.test(problem) || unreadRule.test(problem);
}

/** Several rules are one message, of one line each. */
const unreadRule = /^(?:rg: )?(.*): line \d+: error parsing glob '/;

/** True for a rule of git that is no glob to ripgrep. Git does not complain either. */
function isOfGitRule(problem: string): boolean {
  const path = unreadRule.exec(problem)?.[1];
  return path !== undefined && !/[/\\]\.(?:rg)?ignore$/.test(path);
}

/** As our own walk says it: what both have met is told once. */
function inOurWords(problem: string): string {
  const [, path, number] = /^rg: (?:\.\/)?(.*): .*\(os error (\d+)\)$/.exec(problem) ?? [];
  const code = systemErrors.find(([, errno]) => errno === Number(number))?.[0];
  if (path === undefined || code === undefined) return problem;
  return `${quoted(path)} ${disk.describeFsError(Object.assign(new Error(problem), { code })).phrase}`;
}

function failed(stderr: string, code: number | null): ToolError {
  // Its advice names flags of its command line, which the tool's caller does not have.
  const words = stderr
    .replace(/^rg: /, '')
    .replace(/\n\nConsider enabling PCRE2[^]*$/, '')
    .trim();
  return new ToolError(words === '' ? `ripgrep ended with code ${code}` : words, {
    code: 'SEARCH_FAILED',
  });
}

async function* nothing(): AsyncGenerator<Buffer, void, void> {}
