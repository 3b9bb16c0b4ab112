/**
 * What ripgrep prints: records on its stdout, and on its stderr problems for a person and, with
 * `--debug`, what it does with which file.
 */
import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';

/** Cuts output into records. Each record is taken before the next chunk is added. */
export interface RecordReader<T> {
  add(chunk: Buffer): Iterable<T>;
  /** The record that the output ends with, if nothing closes it. */
  end(): Iterable<T>;
}

export interface RipgrepRecord {
  readonly bytes: Buffer;
  /** True if the record was longer than 4 MiB and `bytes` is only its beginning. */
  readonly cut: boolean;
}

/** A file that was searched, from `--count --null`. */
export interface CountedFile {
  readonly path: string;
  readonly matchingLines: number;
}

/** Files from `--files --null`. */
export interface ListedPaths {
  readonly paths: readonly string[];
  /** Those whose names are not UTF-8; `\\xff` stands for a byte. */
  readonly unnamed: readonly string[];
}

const maxRecordBytes = 4 * 1024 * 1024;
const newline = 0x0a;

/** Reads records that end with a mark: `\n` for `--json`, NUL for `--files --null`. */
export function markedRecords(mark: '\n' | '\0'): RecordReader<RipgrepRecord> {
  const markByte = mark.charCodeAt(0);
  let parts: Buffer[] = [];
  let size = 0;
  let cut = false;
  const keep = (part: Buffer) => {
    const room = maxRecordBytes - size;
    cut ||= part.length > room;
    if (room > 0) parts.push(part.subarray(0, room));
    size += Math.min(part.length, Math.max(room, 0));
  };
  const take = (): RipgrepRecord => {
    const record = { bytes: Buffer.concat(parts), cut };
    [parts, size, cut] = [[], 0, false];
    return record;
  };
  return {
    *add(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(markByte); end !== -1; end = chunk.indexOf(markByte, start)) {
        keep(chunk.subarray(start, end));
        yield take();
        start = end + 1;
      }
      if (start < chunk.length) keep(chunk.subarray(start));
    },
    *end() {
      if (size > 0) yield take();
    },
  };
}

/**
 * Reads `--files --null`: the paths of a chunk in one record, because each record has its price. A
 * path that is not UTF-8 is not among them: it counts as `unnamed`.
 */
export function listedPaths(): RecordReader<ListedPaths> {
  let rest: Buffer = Buffer.alloc(0);
  return {
    *add(chunk) {
      const output = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const end = output.lastIndexOf(0);
      // A name that never ends is not a file's.
      rest = output.subarray(end + 1).subarray(0, maxRecordBytes);
      if (end === -1) return;
      const whole = output.subarray(0, end);
      if (isUtf8(whole)) yield { paths: whole.toString().split('\0'), unnamed: [] };
      else yield splitPaths(whole);
    },
    *end() {},
  };
}

function splitPaths(whole: Buffer): ListedPaths {
  const [paths, unnamed]: [string[], string[]] = [[], []];
  for (let start = 0; start <= whole.length;) {
    const nul = whole.indexOf(0, start);
    const path = whole.subarray(start, nul === -1 ? whole.length : nul);
    if (isUtf8(path)) paths.push(path.toString());
    else unnamed.push(escapedName(path));
    start += path.length + 1;
  }
  return { paths, unnamed };
}

/** A name that is not UTF-8, in which `\\xff` stands for a byte beyond ASCII: each name is told from the others. */
function escapedName(name: Buffer): string {
  return name
    .toString('latin1')
    .replace(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}

/** Reads `--count --include-zero --null`: a path, NUL, the count, a line end. */
export function countedFiles(): RecordReader<readonly CountedFile[]> {
  let rest: Buffer = Buffer.alloc(0);
  return {
    *add(chunk) {
      const output = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      // A line ends with a line feed, and a name may have some: the last one is behind a NUL.
      const end = output.indexOf(newline, output.lastIndexOf(0));
      const last = end === -1 ? lastEnd(output) : end;
      rest = output.subarray(last + 1).subarray(0, maxRecordBytes);
      const files = [...readCounts(output.toString('utf8', 0, last + 1))];
      if (files.length > 0) yield files;
    },
    *end() {},
  };
}

/** Where the last whole line before the last NUL ends. */
function lastEnd(output: Buffer): number {
  const nul = output.lastIndexOf(0);
  const before = nul <= 0 ? -1 : output.lastIndexOf(0, nul - 1);
  return before === -1 ? -1 : output.indexOf(newline, before);
}

function* readCounts(text: string): Generator<CountedFile, void, void> {
  let start = 0;
  for (let nul = text.indexOf('\0'); nul !== -1; nul = text.indexOf('\0', start)) {
    const end = text.indexOf('\n', nul);
    yield { path: text.slice(start, nul), matchingLines: Number(text.slice(nul + 1, end)) };
    start = end + 1;
  }
}

const maxKeptCharacters = 64 * 1024;
const maxLineCharacters = 16 * 1024;
/** How each message of `--debug` begins. */
const debugStart = /^rg: DEBUG\|[\w:]+\|[^:]+\.rs:\d+: /;
const namingStart = /: (?:ignoring|whitelisting|opened gitignore file:) /;
const ignoreFile = /^rg: DEBUG\|ignore::gitignore\|[^:]+:\d+: opened gitignore file: (.+)$/s;
const leftOut =
  /^rg: DEBUG\|(?:ignore::walk|rg::haystack)\|[^:]+:\d+: ignoring (.+): (\d+ bytes$|Ignore\(IgnoreMatch\((?:Hidden|Gitignore)|failed to pass haystack filter: file type: .*is_symlink: false)/s;
const whitelisted =
  /^rg: DEBUG\|ignore::walk\|[^:]+:\d+: whitelisting (.+): Whitelist\(IgnoreMatch\(Gitignore/s;

/**
 * Why ripgrep has not listed a path: by a rule, by its name, by its size, or as no regular file. `braces`: by a rule of
 * git, and a brace is in the rule or in the path.
 */
export type LeftOutReason = 'ignored' | 'hidden' | 'large' | 'special' | 'braces';

export interface MessageListeners {
  /**
   * Told each path that was left out, and what is below it with it. Of a path with line breaks it is
   * also told what comes before each of them.
   */
  readonly onLeftOut?: ((path: string, reason: LeftOutReason) => void) | undefined;
  /** Called with each path that a rule of git has included, if a brace is in the rule or in the path. */
  readonly onIncluded?: ((path: string) => void) | undefined;
  /**
   * Told the path of each file that says which ones to ignore, when it has been opened; of a path
   * with line breaks also what comes before each of them.
   */
  readonly onIgnoreFile: (path: string) => void;
}

function reasonOf(phrase: string): LeftOutReason {
  if (phrase.endsWith('bytes')) return 'large';
  if (phrase.startsWith('failed')) return 'special';
  return phrase.endsWith('Hidden') ? 'hidden' : 'ignored';
}

/**
 * True if a brace is in a rule of git or in a path that it applies to: another rule may decide. Of files that are not
 * git's, ripgrep defines the language.
 */
function isOfBraces(message: string, path: string): boolean {
  const from = textBetween(message, '(Glob { from: Some("', '"), original: "');
  if (from === undefined || /(?:^|[/\\])\.(?:rg)?ignore$/.test(from)) return false;
  const rule = textBetween(message, '"), original: "', '", actual: "') ?? '';
  return hasBrace(rule) || hasBrace(path);
}

/** True if ripgrep and git may differ in a rule or in a rule for a path. */
export function hasBrace(text: string): boolean {
  return /[{}]/.test(text);
}

/** Text between the last `before` and the next `after`. */
function textBetween(text: string, before: string, after: string): string | undefined {
  const start = text.lastIndexOf(before);
  const end = text.indexOf(after, start);
  return start === -1 || end === -1 ? undefined : text.slice(start + before.length, end);
}

/**
 * Reads the messages as they come. Gives a function that tells the problems so far: the last 64 KiB
 * of them.
 */
export function readMessages(
  stderr: Readable,
  { onLeftOut, onIncluded, onIgnoreFile }: MessageListeners,
): () => string {
  let problems = '';
  let rest = '';
  /** The message that names a path, as far as it has come. */
  let naming = '';
  const take = (line: string): void => {
    const isDebug = debugStart.test(line);
    if (!isDebug) problems = `${problems}${line}\n`.slice(-maxKeptCharacters);
    // A path is printed as it is, and a name can contain line breaks: these must not let it escape
    // what bounds the memory.
    if (isDebug) naming = namingStart.test(line) ? line : '';
    else if (naming !== '') naming = `${naming}\n${line}`.slice(0, maxLineCharacters);
    const [, left, phrase = ''] = leftOut.exec(naming) ?? [];
    if (left !== undefined) {
      onLeftOut?.(left, isOfBraces(naming, left) ? 'braces' : reasonOf(phrase));
    }
    const [, included] = whitelisted.exec(naming) ?? [];
    if (included !== undefined && isOfBraces(naming, included)) onIncluded?.(included);
    const opened = ignoreFile.exec(naming)?.[1];
    if (opened !== undefined) onIgnoreFile(opened);
  };
  stderr.setEncoding('utf8');
  stderr.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = (lines.pop() ?? '').slice(0, maxLineCharacters);
    lines.forEach(take);
  });
  return () => problems + rest;
}
