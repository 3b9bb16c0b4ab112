/**
 * One file as `read_file` shows it: a line that says what this is and how to get the rest, and its
 * text, or a picture or a sound.
 */
import { relative, sep } from 'node:path';
import { contains, disk, quoted } from 'mcp-actors/internal';
import { readBytes } from 'mcp-actors/roots';
import type { Boundary, InsideFile } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import type { ContentBlock } from 'mcp-actors';
import type { LineRange } from '../text/line-range.ts';
import { pathLines } from '../text/path-lines.ts';
import type { AskedLines } from '../text/path-lines.ts';
import { defaultBounds } from '../text/read-bounds.ts';
import { readText } from '../text/read-text.ts';
import type { TextReadOptions, TextReading } from '../text/read-text.ts';
import { readTail } from '../text/read-tail.ts';
import type { TakenTail } from '../text/read-tail.ts';
import type { NotText, TextEncoding } from '../text/text-encoding.ts';

/** An open file, and what is wanted of it. */
export interface FileRequest {
  readonly file: InsideFile;
  /** As the caller has written the path, without lines. */
  readonly given: string;
  readonly lines: AskedLines;
  /** So many of the last lines, instead of `lines`. */
  readonly tail?: number;
  readonly numbered: boolean;
}

export type ShowOptions = Pick<TextReadOptions, 'signal' | 'onRead'>;

/** What one file may take of a result. */
export interface FileRoom {
  readonly characters: number;
  /** Of a picture or a sound. */
  readonly mediaBytes: number;
}

export interface ShownFile {
  readonly heading: string;
  /** The file's own text; empty for a picture or a sound. */
  readonly text: string;
  readonly media?: ContentBlock;
  /** The size of the file that `media` is, bytes; 0 without. */
  readonly mediaBytes: number;
}

/**
 * Reads what was asked for. The caller closes the file.
 *
 * @throws {ToolError} OUT_OF_RANGE, BINARY_FILE, INACCESSIBLE; the signal's reason
 */
export async function showFile(
  request: FileRequest,
  boundary: Boundary,
  room: FileRoom,
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
  /** As the result names it. */
  readonly path: string;
  readonly room: FileRoom;
}

/** Relative to the root if there is only one: then it can mean nothing else. */
function shownPath({ base, directories }: Boundary, path: string): string {
  const isRelative = directories.length === 1 && contains(base.path, path);
  return isRelative ? relative(base.path, path).replaceAll(sep, '/') : path;
}

async function showRange(shown: Shown, options: TextReadOptions): Promise<ShownFile> {
  const { file, given, path, room, numbered } = shown;
  const { startLine = 1, startColumn = 1, endLine } = shown.lines;
  if (endLine !== undefined && endLine < startLine) {
    const message = `The last line of ${quoted(given)}, ${endLine}, is before the first, ${startLine}`;
    throw new ToolError(message, { code: 'OUT_OF_RANGE' });
  }
  // So that any character fits: a step that takes nothing would be repeated for ever.
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
  return { heading: `${heading}${restOf(taken, path, endLine)}`, text: taken.text, mediaBytes: 0 };
}

type TextRead = Extract<TextReading, { text: true }>;

/** @throws {ToolError} OUT_OF_RANGE: the file has no such line, or it is too far behind */
function assertReached({ reach, taken }: TextRead, range: LineRange, given: string): void {
  const { startLine, startColumn } = range;
  if (reach === 'short') {
    const message = `Line ${startLine}, column ${startColumn} of ${quoted(given)} is not in its first ${defaultBounds.soughtBytes} bytes, which have ${count(taken.lines)}; it is looked for no farther`;
    throw new ToolError(message, { code: 'OUT_OF_RANGE' });
  }
  if (taken.lines < startLine && startLine > 1) {
    const message = `${quoted(given)} has ${count(taken.lines)}; there is no line ${startLine}`;
    throw new ToolError(message, { code: 'OUT_OF_RANGE' });
  }
}

function restOf(
  { next, endLine }: TextRead['taken'],
  path: string,
  last: number | undefined,
): string {
  if (next === undefined) return '';
  const rest = pathLines(path, last === undefined ? next : { ...next, endLine: last });
  const cut =
    next.startColumn > 1 ? `line ${endLine} is cut before column ${next.startColumn}, ` : '';
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
  const heading = `${headingOf(shown, which, encoding)}${missingOf(reading, shown.path, wanted)}`;
  return { heading, text: taken, mediaBytes: 0 };
}

function missingOf(
  { lines, total, isCut, isShort }: TakenTail,
  path: string,
  wanted: number,
): string {
  const cut = isCut ? '; the beginning of the line is missing: it is too long' : '';
  if (!isShort) return cut;
  if (total === undefined) return `${cut}; no more of the ${wanted} that were asked for fit`;
  const before = { startLine: Math.max(1, total - wanted + 1), endLine: total - lines };
  return `${cut}; for those before read ${quoted(pathLines(path, before), Infinity)}`;
}

/** @throws {ToolError} BINARY_FILE */
async function showMedia(shown: Shown, { kind, mimeType }: NotText): Promise<ShownFile> {
  const { file, given, path, room } = shown;
  const { size } = file.stats;
  const refused = (why: string) =>
    new ToolError(`${quoted(given)} ${why}`, { code: 'BINARY_FILE' });
  if (mimeType === undefined) throw refused(`is not text: ${kind}, ${size} bytes`);
  const bytes = await readBytes(file.handle, room.mediaBytes);
  if (bytes === undefined) {
    throw refused(
      `is a ${kind} of ${size} bytes, too large to be shown: there is room for ${room.mediaBytes}`,
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

/** The usual encoding goes without saying. */
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
