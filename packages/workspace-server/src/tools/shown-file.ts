/**
 * Formats one file for `read_file`: a heading that describes the content and how to get the rest,
 * then text, an image or audio.
 */
import { relative, sep } from 'node:path';
import { contains, disk, quoted } from 'mcp-actors/internal';
import { readBytes } from 'mcp-actors/roots';
import type { Boundary, InsideFile } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import type { ContentBlock } from 'mcp-actors';
import type { LineRange } from '../text/line-range.ts';
import { formatPathLines } from '../text/path-lines.ts';
import type { RequestedLines } from '../text/path-lines.ts';
import { defaultBounds } from '../text/read-bounds.ts';
import { readText } from '../text/read-text.ts';
import type { TextReadOptions, TextReading } from '../text/read-text.ts';
import { readTail } from '../text/read-tail.ts';
import type { TailResult } from '../text/read-tail.ts';
import type { BinaryContent, TextEncoding } from '../text/text-encoding.ts';

/** An open file and the requested part of it. */
export interface FileRequest {
  readonly file: InsideFile;
  /** The path as passed by the caller, without lines. */
  readonly given: string;
  readonly lines: RequestedLines;
  /** Number of last lines, instead of `lines`. */
  readonly tail?: number;
  readonly numbered: boolean;
}

export type ShowOptions = Pick<TextReadOptions, 'signal' | 'onRead'>;

/** Space for one file in a result. */
export interface FileSpace {
  readonly characters: number;
  /** Space for an image or audio. */
  readonly mediaBytes: number;
}

export interface ShownFile {
  readonly heading: string;
  /** The file's text; empty for an image or audio. */
  readonly text: string;
  readonly media?: ContentBlock;
  /** Size of the image or audio file, bytes; 0 without. */
  readonly mediaBytes: number;
}

/**
 * Reads the requested part. The caller closes the file.
 *
 * @throws {ToolError} OUT_OF_RANGE, BINARY_FILE, INACCESSIBLE; the signal's reason
 */
export async function showFile(
  request: FileRequest,
  boundary: Boundary,
  room: FileSpace,
  options: ShowOptions,
): Promise<ShownFile> {
  const { file, given } = request;
  const shown = { ...request, path: shownPath(boundary, file.path), room };
  const reading = { ...options, sizeBytes: file.stats.size };
  try {
    return request.tail === undefined
      ? await showRange(shown, reading)
      : await showTail(shown, request.tail, reading);
  } catch (error) {
    if (error instanceof ToolError || disk.systemCode(error) === undefined) throw error;
    const message = `${quoted(given)} ${disk.describeFsError(error).phrase}`;
    throw new ToolError(message, { code: 'INACCESSIBLE', cause: error });
  }
}

interface Shown extends FileRequest {
  /** Path shown in the result. */
  readonly path: string;
  readonly room: FileSpace;
}

/** Relative if there is only one root, so that the path is unambiguous. */
function shownPath({ base, directories }: Boundary, path: string): string {
  const isRelative = directories.length === 1 && contains(base.path, path);
  return isRelative ? relative(base.path, path).replaceAll(sep, '/') : path;
}

async function showRange(shown: Shown, options: TextReadOptions): Promise<ShownFile> {
  const { file, given, path, room, numbered } = shown;
  const { startLine = 1, startColumn = 1, endLine } = shown.lines;
  if (endLine !== undefined && endLine < startLine) {
    const message = `Last line of ${quoted(given)} must not be before the first (${startLine}), got ${endLine}`;
    throw new ToolError(message, { code: 'OUT_OF_RANGE' });
  }
  // Room for at least one character; otherwise the caller would repeat an empty step forever.
  const maxCharacters = Math.max(numbered ? 16 : 2, room.characters);
  const range = { startLine, startColumn, maxCharacters, numbered };
  const asked = endLine === undefined ? range : { ...range, endLine };
  const reading = await readText(file.handle, asked, options);
  if (!reading.text) return await showMedia(shown, reading);
  assertReached(reading, asked, given);
  const { taken, reach, encoding } = reading;
  const isWhole =
    startLine === 1 && startColumn === 1 && reach === 'end' && taken.endLine === taken.lines;
  const counted = reach === 'end' ? `${taken.lines}` : `more than ${taken.lines}`;
  const which =
    isWhole && taken.next === undefined
      ? count(taken.lines)
      : `lines ${startLine} to ${taken.endLine} of ${counted}`;
  const heading = headingOf(shown, which, encoding);
  return {
    heading: `${heading}${formatRest(taken, path, endLine)}`,
    text: taken.text,
    mediaBytes: 0,
  };
}

type TextRead = Extract<TextReading, { text: true }>;

/** @throws {ToolError} OUT_OF_RANGE if the file has no such line, or it is beyond the read limit */
function assertReached({ reach, taken }: TextRead, range: LineRange, given: string): void {
  const { startLine, startColumn } = range;
  if (reach === 'short') {
    const message = `Line ${startLine}, column ${startColumn} of ${quoted(given)} is beyond its first ${defaultBounds.maxSeekBytes} bytes, which have ${count(taken.lines)}; larger offsets are not searched`;
    throw new ToolError(message, { code: 'OUT_OF_RANGE' });
  }
  if (taken.lines < startLine && startLine > 1) {
    const message = `${quoted(given)} has ${count(taken.lines)}, so there is no line ${startLine}`;
    throw new ToolError(message, { code: 'OUT_OF_RANGE' });
  }
}

function formatRest(
  { next, endLine }: TextRead['taken'],
  path: string,
  last: number | undefined,
): string {
  if (next === undefined) return '';
  const rest = formatPathLines(path, last === undefined ? next : { ...next, endLine: last });
  const cut =
    next.startColumn > 1 ? `line ${endLine} is truncated at column ${next.startColumn}, ` : '';
  return `; ${cut}for the rest read ${quoted(rest, Infinity)}`;
}

async function showTail(
  shown: Shown,
  wanted: number,
  options: TextReadOptions,
): Promise<ShownFile> {
  const { file, room, numbered } = shown;
  const maxCharacters = Math.max(16, room.characters);
  const range = { lines: wanted, maxCharacters, numbered };
  const reading = await readTail(file.handle, range, options);
  if (!reading.text) return await showMedia(shown, reading);
  const { lines, total, encoding, taken } = reading;
  const which =
    total === undefined
      ? `the last ${count(lines)}${numbered ? ' (too large to be numbered)' : ''}`
      : lines === total
        ? count(total)
        : `lines ${total - lines + 1} to ${total} of ${total}`;
  const heading = `${headingOf(shown, which, encoding)}${formatMissing(reading, shown.path, wanted)}`;
  return { heading, text: taken, mediaBytes: 0 };
}

function formatMissing(
  { lines, total, isCut, isShort }: TailResult,
  path: string,
  wanted: number,
): string {
  const cut = isCut ? '; the line is too long, so its beginning is missing' : '';
  if (!isShort) return cut;
  if (total === undefined) return `${cut}; no more of the ${wanted} requested lines fit`;
  const before = { startLine: Math.max(1, total - wanted + 1), endLine: total - lines };
  return `${cut}; for the lines before read ${quoted(formatPathLines(path, before), Infinity)}`;
}

/** @throws {ToolError} BINARY_FILE */
async function showMedia(shown: Shown, { kind, mimeType }: BinaryContent): Promise<ShownFile> {
  const { file, given, path, room } = shown;
  const { size } = file.stats;
  const refused = (why: string) =>
    new ToolError(`${quoted(given)} ${why}`, { code: 'BINARY_FILE' });
  if (mimeType === undefined) throw refused(`is not text: ${kind}, ${size} bytes`);
  const bytes = await readBytes(file.handle, room.mediaBytes);
  if (bytes === undefined) {
    throw refused(
      `is a ${kind} of ${size} bytes, too large to show: the limit is ${room.mediaBytes}`,
    );
  }
  const type = mimeType.startsWith('image/') ? 'image' : 'audio';
  const media: ContentBlock = { type, mimeType, data: bytes.toString('base64') };
  return {
    heading: `${path}: ${mimeType}, ${bytes.length} bytes`,
    text: '',
    media,
    mediaBytes: bytes.length,
  };
}

/** UTF-8 is not mentioned. */
const encodingNotes: { readonly [K in TextEncoding]: string } = {
  'utf-8': '',
  'utf-8-bom': ', utf-8-bom',
  'utf-16le': ', utf-16le',
  'utf-16be': ', utf-16be',
  shift_jis: ', shift_jis (guessed)',
  'iso-8859-1': ', iso-8859-1 (guessed)',
  'unknown-8bit': ', unknown-8bit (U+FFFD stands for bytes that cannot be decoded)',
};

function headingOf({ path, file }: Shown, which: string, encoding: TextEncoding): string {
  return `${path}: ${which}${encodingNotes[encoding]}, ${file.stats.size} bytes`;
}

function count(lines: number): string {
  return lines === 1 ? '1 line' : `${lines} lines`;
}
