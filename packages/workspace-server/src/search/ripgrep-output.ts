/**
 * Parsers for ripgrep's output: records on stdout; on stderr problems and, with `--debug`, which
 * files were skipped.
 */
import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';

/** Splits output into records. Consume all records before adding the next chunk. */
export interface RecordReader<T> {
  add(chunk: Buffer): Iterable<T>;
  /** The last record, if the output ends without a delimiter. */
  end(): Iterable<T>;
}

export interface RipgrepRecord {
  readonly bytes: Buffer;
  /** True if the record exceeded 4 MiB and `bytes` is only its beginning. */
  readonly cut: boolean;
}

/** A searched file, from `--count --null`. */
export interface CountedFile {
  readonly path: string;
  readonly matchingLines: number;
}

/** Files from `--files --null`. */
export interface ListedPaths {
  readonly paths: readonly string[];
  /** Names that are not UTF-8; `\\xff` stands for a byte. */
  readonly unnamed: readonly string[];
}

const maxRecordBytes = 4 * 1024 * 1024;
const newline = 0x0a;

/**
 * Splits at a delimiter: `
 * ` for `--json`, NUL for `--files --null`.
 */
export function delimitedRecords(mark: '\n' | '\0'): RecordReader<RipgrepRecord> {
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
 * Parses `--files --null`. All paths of a chunk form one record, to save per-record overhead. Paths
 * that are not UTF-8 go to `unnamed`.
 */
export function listedPaths(): RecordReader<ListedPaths> {
  let rest: Buffer = Buffer.alloc(0);
  return {
    *add(chunk) {
      const output = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const end = output.lastIndexOf(0);
      // A file name cannot be this long.
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
    else unnamed.push(escapeName(path));
    start += path.length + 1;
  }
  return { paths, unnamed };
}

/**
 * Escapes a name that is not UTF-8 with `\\xff` for each non-ASCII byte, so that names stay
 * distinct.
 */
function escapeName(name: Buffer): string {
  return name
    .toString('latin1')
    .replace(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}

/** Parses `--count --include-zero --null`: a path, NUL, the count, a newline. */
export function countedFiles(): RecordReader<readonly CountedFile[]> {
  let rest: Buffer = Buffer.alloc(0);
  return {
    *add(chunk) {
      const output = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      // Names may contain newlines, so a record ends at the first newline after a NUL.
      const end = output.indexOf(newline, output.lastIndexOf(0));
      const last = end === -1 ? lastEnd(output) : end;
      rest = output.subarray(last + 1).subarray(0, maxRecordBytes);
      const files = [...readCounts(output.toString('utf8', 0, last + 1))];
      if (files.length > 0) yield files;
    },
    *end() {},
  };
}

/** End of the last complete record before the last NUL. */
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
/** Prefix of every `--debug` message. */
const debugStart = /^rg: DEBUG\|[\w:]+\|[^:]+\.rs:\d+: /;
const namingStart = /: (?:ignoring|whitelisting|opened gitignore file:) /;
const ignoreFile = /^rg: DEBUG\|ignore::gitignore\|[^:]+:\d+: opened gitignore file: (.+)$/s;
const leftOut =
  /^rg: DEBUG\|(?:ignore::walk|rg::haystack)\|[^:]+:\d+: ignoring (.+): (\d+ bytes$|Ignore\(IgnoreMatch\((?:Hidden|Gitignore)|failed to pass haystack filter: file type: .*is_symlink: false)/s;
const whitelisted =
  /^rg: DEBUG\|ignore::walk\|[^:]+:\d+: whitelisting (.+): Whitelist\(IgnoreMatch\(Gitignore/s;

/**
 * Reason why ripgrep omitted a path: a rule, a hidden name, its size, or not a regular file.
 * `braces`: a git rule, with a brace in the rule or in the path.
 */
export type OmissionReason = 'ignored' | 'hidden' | 'large' | 'special' | 'braces';

export interface MessageListeners {
  /**
   * Called with each omitted path; paths below it are not reported. A path with line breaks is also
   * reported truncated at each of them.
   */
  readonly onOmitted?: ((path: string, reason: OmissionReason) => void) | undefined;
  /**
   * Called with each path that a git rule re-includes, if the rule or the path contains a brace.
   */
  readonly onIncluded?: ((path: string) => void) | undefined;
  /**
   * Called with the path of each opened ignore file. A path with line breaks is also reported
   * truncated at each of them.
   */
  readonly onIgnoreFile: (path: string) => void;
}

function reasonOf(phrase: string): OmissionReason {
  if (phrase.endsWith('bytes')) return 'large';
  if (phrase.startsWith('failed')) return 'special';
  return phrase.endsWith('Hidden') ? 'hidden' : 'ignored';
}

/**
 * True if a git rule or its path contains a brace, so that git may decide differently. Ripgrep's
 * own ignore files are exempt, because ripgrep defines their language.
 */
function involvesBraces(message: string, path: string): boolean {
  const from = textBetween(message, '(Glob { from: Some("', '"), original: "');
  if (from === undefined || /(?:^|[/\\])\.(?:rg)?ignore$/.test(from)) return false;
  const rule = textBetween(message, '"), original: "', '", actual: "') ?? '';
  return hasBrace(rule) || hasBrace(path);
}

/** True if ripgrep and git may interpret a rule or path differently. */
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
 * Parses messages as they arrive.
 *
 * @returns getter for the problems so far, limited to the last 64 KiB
 */
export function readMessages(
  stderr: Readable,
  { onOmitted, onIncluded, onIgnoreFile }: MessageListeners,
): () => string {
  let problems = '';
  let rest = '';
  /** The message that names a path, as far as received. */
  let naming = '';
  const take = (line: string): void => {
    const isDebug = debugStart.test(line);
    if (!isDebug) problems = `${problems}${line}\n`.slice(-maxKeptCharacters);
    // Paths are printed unescaped and may contain line breaks, so the length limit must apply to
    // continuation lines as well.
    if (isDebug) naming = namingStart.test(line) ? line : '';
    else if (naming !== '') naming = `${naming}\n${line}`.slice(0, maxLineCharacters);
    const [, left, phrase = ''] = leftOut.exec(naming) ?? [];
    if (left !== undefined) {
      onOmitted?.(left, involvesBraces(naming, left) ? 'braces' : reasonOf(phrase));
    }
    const [, included] = whitelisted.exec(naming) ?? [];
    if (included !== undefined && involvesBraces(naming, included)) onIncluded?.(included);
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
