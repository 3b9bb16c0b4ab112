/**
 * What ripgrep prints: records on its stdout, and on its stderr problems for a person and, with
 * `--debug`, what it does with which file.
 */
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

/** A file that has matching lines, from `--count --null`. */
export interface CountedFile {
  readonly path: Buffer;
  readonly matchingLines: number;
}

const maxRecordBytes = 4 * 1024 * 1024;
const newline = 0x0a;
const zero = 0x30;

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
 * Reads `--count --include-zero --null`: a path, NUL, the count, a line end. Files without a match
 * are passed over where they stand: most of a project's files have none.
 */
export function countedFiles(): RecordReader<CountedFile> {
  let rest: Buffer = Buffer.alloc(0);
  return {
    *add(chunk) {
      const output = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let start = 0;
      for (;;) {
        const nul = output.indexOf(0, start);
        const end = nul === -1 ? -1 : output.indexOf(newline, nul);
        if (end === -1) break;
        if (output[nul + 1] !== zero) {
          const path = output.subarray(start, nul);
          yield { path, matchingLines: Number(output.toString('latin1', nul + 1, end)) };
        }
        start = end + 1;
      }
      // A name that never ends is not a file's.
      rest = output.subarray(start).subarray(0, maxRecordBytes);
    },
    *end() {},
  };
}

const maxKeptCharacters = 64 * 1024;
const maxLineCharacters = 16 * 1024;
/** How each message of `--debug` begins. */
const debugStart = /^rg: DEBUG\|[\w:]+\|[^:]+\.rs:\d+: /;
const namingStart = /: (?:ignoring|opened gitignore file:) /;
const tooLarge = /^rg: DEBUG\|ignore::walk\|[^:]+:\d+: ignoring (.+): \d+ bytes$/s;
const ignoreFile = /^rg: DEBUG\|ignore::gitignore\|[^:]+:\d+: opened gitignore file: (.+)$/s;

export interface MessageListeners {
  /** Told the path of each file that `--max-filesize` has left out. */
  readonly onTooLarge?: ((path: string) => void) | undefined;
  /**
   * Told the path of each file that says which ones to ignore, when it has been opened; of a path
   * with line breaks also what stands before each of them.
   */
  readonly onIgnoreFile: (path: string) => void;
}

/**
 * Reads the messages as they come. Gives a function that tells the problems so far: the last 64 KiB
 * of them.
 */
export function readMessages(
  stderr: Readable,
  { onTooLarge, onIgnoreFile }: MessageListeners,
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
    const left = tooLarge.exec(naming)?.[1];
    if (left !== undefined) onTooLarge?.(left);
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
