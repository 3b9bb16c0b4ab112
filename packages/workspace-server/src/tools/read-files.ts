/** Reading the files of one call, which share what a result may have. */
import { quoted } from 'mcp-actors/internal';
import { openInside } from 'mcp-actors/roots';
import type { Boundary, InsideFile } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import type { Entered } from '../project/workspace.ts';
import type { AskedLines } from '../text/path-lines.ts';
import { readPathLines } from '../text/path-lines.ts';
import { findSpelling } from '../search/path-spelling.ts';
import { withNearest } from './nearest-paths.ts';
import type { Asking } from './nearest-paths.ts';
import { showFile } from './shown-file.ts';
import type { FileRequest, FileRoom, ShowOptions, ShownFile } from './shown-file.ts';

/** Of all pictures and sounds of a result: 4 MiB in base64, which hosts and models take. */
const maxMediaBytes = 3 * 1024 * 1024;

/** What is wanted of each file. */
export interface ReadRequest {
  /** Paths that may name their lines. */
  readonly paths: readonly string[];
  /** Of the files whose paths name none. */
  readonly lines: AskedLines;
  /** So many of the last lines, instead of `lines`. */
  readonly tail: number | undefined;
  readonly numbered: boolean;
  /** The most text of all files together. */
  readonly maxCharacters: number;
}

/** A file, or why it cannot be shown. */
export type ReadOutcome = ShownFile | ToolError;

/**
 * Reads files, and gives the outcomes in the order of their paths.
 *
 * @throws the reason of the context's signal; any error but a `ToolError`
 */
export async function readFiles(request: ReadRequest, reader: Asking): Promise<ReadOutcome[]> {
  const opened: (FileRequest | ToolError)[] = [];
  try {
    for (const path of request.paths) opened.push(await openAsked(path, request, reader));
    return await showAll(opened, request.maxCharacters, reader);
  } finally {
    const files = opened.flatMap((one) => (one instanceof ToolError ? [] : [one.file]));
    await Promise.all(files.map(async ({ handle }) => await handle.close()));
  }
}

async function openAsked(
  given: string,
  { lines, tail, numbered }: ReadRequest,
  reader: Asking,
): Promise<FileRequest | ToolError> {
  const { boundary } = reader.entered;
  const rest = { numbered, ...(tail === undefined ? {} : { tail }) };
  try {
    // A file whose name looks as if it named lines is found first.
    return { file: await openSpelled(boundary, given), given, lines, ...rest };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const named = error.code === 'NOT_FOUND' ? readPathLines(given) : undefined;
    if (named === undefined) return await withNearest(error, given, reader);
    const twice = [...Object.keys(lines), ...(tail === undefined ? [] : ['tail'])];
    if (twice.length > 0) return namedTwice(given, twice);
    const { path } = named;
    try {
      return { file: await openSpelled(boundary, path), given: path, lines: named.lines, ...rest };
    } catch (second) {
      if (!(second instanceof ToolError)) throw second;
      return await withNearest(second, path, reader);
    }
  }
}

/** Opens a file by its path, or by another spelling of it. */
async function openSpelled(boundary: Boundary, given: string): Promise<InsideFile> {
  try {
    return await openInside(boundary, given);
  } catch (error) {
    if (!(error instanceof ToolError) || error.code !== 'NOT_FOUND') throw error;
    const spelled = await findSpelling(boundary, given);
    if (spelled === undefined) throw error;
    return await openInside(boundary, spelled);
  }
}

function namedTwice(given: string, twice: readonly string[]): ToolError {
  const message = `${quoted(given)} names its lines: leave out ${twice.join(' and ')}, or the lines in the path`;
  return new ToolError(message, { code: 'INVALID_RANGE' });
}

/**
 * Each file has its part of what is left, beginning with those that need little: what they leave is
 * for the others.
 */
async function showAll(
  opened: readonly (FileRequest | ToolError)[],
  maxCharacters: number,
  { entered, context }: Asking,
): Promise<ReadOutcome[]> {
  const outcomes: ReadOutcome[] = [];
  const total = opened.reduce((sum, one) => sum + sizeOf(one), 0);
  let room = { characters: maxCharacters, mediaBytes: maxMediaBytes };
  let left = opened.length;
  let read = 0;
  for (const [at, one] of [...opened.entries()].sort(([, a], [, b]) => needOf(a) - needOf(b))) {
    const share = { ...room, characters: Math.floor(room.characters / left) };
    const onRead = (bytes: number) =>
      context.progress(read + bytes, { total: Math.max(total, read + bytes) });
    const options = { signal: context.signal, onRead };
    const outcome = one instanceof ToolError ? one : await tryShow(one, entered, share, options);
    outcomes[at] = outcome;
    if (!(outcome instanceof ToolError)) {
      room = {
        characters: room.characters - outcome.text.length,
        mediaBytes: room.mediaBytes - outcome.mediaBytes,
      };
    }
    left -= 1;
    read += sizeOf(one);
  }
  return outcomes;
}

function sizeOf(one: FileRequest | ToolError): number {
  return one instanceof ToolError ? 0 : one.file.stats.size;
}

/** An estimate, to sort by: a range is small, and a whole file as large as it is. */
function needOf(one: FileRequest | ToolError): number {
  const isRange = one instanceof ToolError || one.tail !== undefined || one.lines.endLine;
  return isRange ? 0 : sizeOf(one);
}

/** @throws any error but a `ToolError` */
async function tryShow(
  request: FileRequest,
  { boundary }: Entered,
  room: FileRoom,
  options: ShowOptions,
): Promise<ReadOutcome> {
  try {
    return await showFile(request, boundary, room, options);
  } catch (error) {
    if (error instanceof ToolError) return error;
    throw error;
  }
}
