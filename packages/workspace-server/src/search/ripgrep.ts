/** Runs ripgrep: yields records as they arrive, and ends the process with the iteration. */
import { constants } from 'node:os';
import { disk, quoted } from 'mcp-actors/internal';
import type { RootDirectory } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import { isSliceOver, nextSlice } from '../globs/time-slices.ts';
import { IgnoreFiles } from './ignore-files.ts';
import type { MessageListeners, RecordReader } from './ripgrep-output.ts';
import { startRipgrep } from './ripgrep-process.ts';

export interface RipgrepRun<T> {
  /** Options and paths to search; see {@link ripgrepArguments}. */
  readonly args: readonly string[];
  /** Working directory. Paths in `args` and in the output are relative to it. */
  readonly root: RootDirectory;
  /** Kills the process; the iteration throws the signal's reason. */
  readonly signal: AbortSignal;
  /** Kills the process; the iteration ends normally, with the reason among the problems. */
  readonly deadline?: AbortSignal;
  /** Splits the output into records. */
  readonly records: RecordReader<T>;
  /** Input for stdin; none by default. Its errors end the iteration. */
  readonly input?: AsyncIterable<Buffer>;
  /** Called with each omitted path, if `args` contains `--debug`. */
  readonly onOmitted?: MessageListeners['onOmitted'];
  /**
   * Called with each path that a git rule re-includes, if the rule or the path contains a brace and
   * `args` contains `--debug`.
   */
  readonly onIncluded?: MessageListeners['onIncluded'];
  /** Called with each opened ignore file, if `args` contains `--debug`. */
  readonly onIgnoreFile?: MessageListeners['onIgnoreFile'];
  /** Called once when ripgrep has ended by itself or at the deadline. */
  readonly onEnd?: (end: RipgrepEnd) => void;
}

export interface RipgrepEnd {
  /** Unreadable files and similar, one line each; ripgrep continued without them. */
  readonly problems: readonly string[];
}

/**
 * Options of every run: no configuration file, no followed links, the same paths on every system.
 * The size limits bound a pattern's cost to a hundredth of ripgrep's default.
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
 * Runs ripgrep and yields its records as they arrive. Leaving the loop early kills the process, and
 * unread records apply backpressure. The child never inherits our stdin or stdout.
 *
 * The child is killed when this process exits. If this process is killed, the child ends at its
 * next write, or at once if it reads `input`. A killed child that does not exit within a second,
 * because its threads wait for a dead mount, is abandoned.
 *
 * @throws {ToolError} SEARCH_FAILED with ripgrep's message if it could not start, for example
 * because
 * of an invalid pattern; errors of `startRipgrep`; the signal's reason
 */
export async function* ripgrep<T>(run: RipgrepRun<T>): AsyncGenerator<T, void, void> {
  const { deadline, onOmitted, onIncluded, records } = run;
  // Aborted if this run fails for an internal reason.
  const own = new AbortController();
  const signal = AbortSignal.any([run.signal, own.signal]);
  signal.throwIfAborted();
  const ignoreFiles = new IgnoreFiles(run.root.path, (error) => own.abort(error));
  const onIgnoreFile = (path: string): void => {
    ignoreFiles.add(path);
    run.onIgnoreFile?.(path);
  };
  const listeners = { onOmitted, onIncluded, onIgnoreFile };
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
        // Includes the time spent on records: they arrive faster than a busy event loop turns.
        if (isSliceOver()) await nextSlice(signal);
        signal.throwIfAborted();
        yield record;
      }
    }
    const code = await child.ended;
    signal.throwIfAborted();
    if (deadline?.aborted === true) {
      // The last record may be incomplete, so it is dropped.
      const { message } = deadline.reason as Error;
      run.onEnd?.({ problems: [message, ...linesOf(child.problems()).map(rephrase)] });
      return;
    }
    yield* records.end();
    await ignoreFiles.checked();
    signal.throwIfAborted();
    // Exit code 0: matches; 1: none; 2: an error. After an error, ripgrep continued if it produced
    // output, or if only individual files were unreadable.
    const lines = linesOf(child.problems());
    const isGoingOn = bytes > 0 || (lines.length > 0 && lines.every(isRecoverable));
    const usable = code === 0 || code === 1 || (code === 2 && isGoingOn);
    if (!usable) throw failed(child.problems(), code);
    const problems = lines.filter((line) => !isInvalidGitRule(line)).map(rephrase);
    run.onEnd?.({ problems: code === 2 ? problems : [] });
  } finally {
    signal.removeEventListener('abort', child.kill);
    deadline?.removeEventListener('abort', child.kill);
    child.kill();
    // Wait for the exit, so that no orphan or zombie remains.
    await child.ended;
  }
}

const systemErrors = Object.entries(constants.errno);

function linesOf(text: string): string[] {
  return text.split('\n').filter(Boolean);
}

/** True if ripgrep continued after a problem, with the next file or without a rule. */
function isRecoverable(problem: string): boolean {
  return /^rg: .*\(os error \d+\)$/.test(problem) || unreadRule.test(problem);
}

/** Several invalid rules form one message with a line each. */
const unreadRule = /^(?:rg: )?(.*): line \d+: error parsing glob '/;

/** True for a git rule that ripgrep cannot parse. Git ignores such rules silently. */
function isInvalidGitRule(problem: string): boolean {
  const path = unreadRule.exec(problem)?.[1];
  return path !== undefined && !/[/\\]\.(?:rg)?ignore$/.test(path);
}

/** Rephrases a problem like our own walk does, so that duplicates can be removed. */
function rephrase(problem: string): string {
  const [, path, number] = /^rg: (?:\.\/)?(.*): .*\(os error (\d+)\)$/.exec(problem) ?? [];
  const code = systemErrors.find(([, errno]) => errno === Number(number))?.[0];
  if (path === undefined || code === undefined) return problem;
  return `${quoted(path)} ${disk.describeFsError(Object.assign(new Error(problem), { code })).phrase}`;
}

function failed(stderr: string, code: number | null): ToolError {
  // Drop ripgrep's advice about command line flags, which the tool's caller cannot set.
  const words = stderr
    .replace(/^rg: /, '')
    .replace(/\n\nConsider enabling PCRE2[^]*$/, '')
    .trim();
  return new ToolError(words === '' ? `ripgrep ended with code ${code}` : words, {
    code: 'SEARCH_FAILED',
  });
}

async function* nothing(): AsyncGenerator<Buffer, void, void> {}
