/** Reads the files of one call, which share the size limit of a result. */
import { quoted } from 'mcp-actors/internal';
import { openInside } from 'mcp-actors/roots';
import type { Boundary, InsideFile } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import type { EnteredRoot } from '../project/workspace.ts';
import type { RequestedLines } from '../text/path-lines.ts';
import { parsePathLines } from '../text/path-lines.ts';
import { findSpelling } from '../search/path-spelling.ts';
import { addSuggestions } from './path-suggestions.ts';
import type { CallScope } from './path-suggestions.ts';
import { showFile } from './shown-file.ts';
import type { FileRequest, FileSpace, ShowOptions, ShownFile } from './shown-file.ts';

/** Total size of images and audio in a result: 4 MiB as base64, which hosts and models accept. */
const maxMediaBytes = 3 * 1024 * 1024;

/** Parameters of a read. */
export interface ReadRequest {
  /** Paths, optionally with line numbers. */
  readonly paths: readonly string[];
  /** Lines of files whose paths have no line numbers. */
  readonly lines: RequestedLines;
  /** Number of last lines, instead of `lines`. */
  readonly tail: number | undefined;
  readonly numbered: boolean;
  /** Maximum text of all files together. */
  readonly maxCharacters: number;
}

/** A file's content, or the reason it cannot be shown. */
export type ReadOutcome = ShownFile | ToolError;

/**
 * Reads files and returns the outcomes in the order of their paths.
 *
 * @throws the reason of the context's signal; errors other than `ToolError`
 */
export async function readFiles(request: ReadRequest, reader: CallScope): Promise<ReadOutcome[]> {
  const opened: (FileRequest | ToolError)[] = [];
  try {
    for (const path of request.paths) opened.push(await openRequested(path, request, reader));
    return await showAll(opened, request.maxCharacters, reader);
  } finally {
    const files = opened.flatMap((one) => (one instanceof ToolError ? [] : [one.file]));
    await Promise.all(files.map(async ({ handle }) => await handle.close()));
  }
}

async function openRequested(
  given: string,
  { lines, tail, numbered }: ReadRequest,
  reader: CallScope,
): Promise<FileRequest | ToolError> {
  const { boundary } = reader.entered;
  const rest = { numbered, ...(tail === undefined ? {} : { tail }) };
  try {
    // A file whose name looks like a path with line numbers takes precedence.
    return { file: await openAnySpelling(boundary, given), given, lines, ...rest };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const named = error.code === 'NOT_FOUND' ? parsePathLines(given) : undefined;
    if (named === undefined) return await addSuggestions(error, given, reader);
    const twice = [...Object.keys(lines), ...(tail === undefined ? [] : ['tail'])];
    if (twice.length > 0) return conflictingLines(given, twice);
    const { path } = named;
    try {
      return {
        file: await openAnySpelling(boundary, path),
        given: path,
        lines: named.lines,
        ...rest,
      };
    } catch (second) {
      if (!(second instanceof ToolError)) throw second;
      return await addSuggestions(second, path, reader);
    }
  }
}

/** Opens a file by its path, or by another spelling of it. */
async function openAnySpelling(boundary: Boundary, given: string): Promise<InsideFile> {
  try {
    return await openInside(boundary, given);
  } catch (error) {
    if (!(error instanceof ToolError) || error.code !== 'NOT_FOUND') throw error;
    const spelled = await findSpelling(boundary, given);
    if (spelled === undefined) throw error;
    return await openInside(boundary, spelled);
  }
}

function conflictingLines(given: string, twice: readonly string[]): ToolError {
  const message = `${quoted(given)} already includes lines: omit ${twice.join(' and ')}, or the lines in the path`;
  return new ToolError(message, { code: 'INVALID_RANGE' });
}

/**
 * Shares the remaining space equally, smallest files first, so that the space they leave goes to
 * the larger ones.
 */
async function showAll(
  opened: readonly (FileRequest | ToolError)[],
  maxCharacters: number,
  { entered, context }: CallScope,
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

/** Estimate for sorting: ranges count as small, whole files by size. */
function needOf(one: FileRequest | ToolError): number {
  const isRange = one instanceof ToolError || one.tail !== undefined || one.lines.endLine;
  return isRange ? 0 : sizeOf(one);
}

/** @throws errors other than `ToolError` */
async function tryShow(
  request: FileRequest,
  { boundary }: EnteredRoot,
  room: FileSpace,
  options: ShowOptions,
): Promise<ReadOutcome> {
  try {
    return await showFile(request, boundary, room, options);
  } catch (error) {
    if (error instanceof ToolError) return error;
    throw error;
  }
}
