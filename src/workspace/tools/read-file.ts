/** `read_file`: a text file, or a range of its lines. */
import { relative } from 'node:path';
import { printableLines, quoted } from '../../protocol/printable.ts';
import { ToolError } from '../../protocol/errors.ts';
import { textBlock } from '../../protocol/content.ts';
import { defineTool } from '../../define/tool.ts';
import type { Tool } from '../../define/tool.ts';
import { fsFault, systemCode } from '../disk/fs-fault.ts';
import type { LineRange } from '../text/line-range.ts';
import { contains } from '../roots/boundary.ts';
import type { Boundary } from '../roots/boundary.ts';
import type { InsideFile } from '../roots/open-inside.ts';
import { pathLines, readPathLines } from '../text/path-lines.ts';
import type { AskedLines } from '../text/path-lines.ts';
import { defaultBounds } from '../text/read-bounds.ts';
import type { TextReadOptions, TextReading } from '../text/read-text.ts';
import type { Workspace } from '../project/workspace.ts';
import { rootParameter } from './root-parameter.ts';

const defaultMaxCharacters = 30_000;
const maxMaxCharacters = 400_000;

/** Makes `read_file` over a session's workspace. */
export function readFileTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'read_file',
    title: 'Read a file',
    description: `Reads a text file of the project, or a range of its lines. The first line of the result says which lines it has, of how many, and what to read for the rest; the file's own text follows after an empty line. Binary files are refused; their size and kind are told.`,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    // A caller that asks for more than the default gets it: Claude Code would cut it to a preview.
    _meta: { 'anthropic/maxResultSizeChars': maxMaxCharacters + 10_000 },
    inputSchema: {
      type: 'object',
      properties: {
        path: {
          type: 'string',
          minLength: 1,
          description:
            'Relative to the root, or absolute inside one of the roots. It may name its lines: "src/x.ts:10-40", or "src/x.ts:10" from there on.',
        },
        startLine: {
          type: 'integer',
          minimum: 1,
          description: 'First line, from 1; 1 by default.',
        },
        endLine: {
          type: 'integer',
          minimum: 1,
          description: 'Last line, inclusive; the end of the file by default.',
        },
        maxCharacters: {
          type: 'integer',
          minimum: 1,
          maximum: maxMaxCharacters,
          description: `The most text to return, in whole lines if one fits; ${defaultMaxCharacters} by default.`,
        },
        root: rootParameter,
      },
      required: ['path'],
      additionalProperties: false,
    },
    async handler({ path: given, root, maxCharacters, ...asked }, context) {
      const entered = await workspace.enter(context, root);
      const { boundary } = entered;
      const { file, lines } = await openAsked(boundary, given, asked);
      const { path, stats } = file;
      const range = toRange(lines, maxCharacters);
      const reading = await readAndClose(file, given, range, {
        signal: context.signal,
        sizeBytes: stats.size,
        onRead: (bytes) => context.progress(bytes, { total: Math.max(stats.size, bytes) }),
      });
      if (!reading.text) {
        const message = `${quoted(given)} is not text: ${reading.kind}, ${stats.size} bytes`;
        throw new ToolError(message, { code: 'BINARY_FILE' });
      }
      assertReached(reading, range, given);
      const heading = headingOf(shownPath(boundary, path), reading, range, stats.size);
      const note = entered.takeNote();
      const above = printableLines(note === undefined ? [heading] : [heading, note]);
      const { text } = reading.taken;
      return [textBlock(text === '' ? above : `${above}\n\n${text}`)];
    },
  });
}

/**
 * Opens the file of a path that may name its lines. A file whose name looks like that is found
 * first.
 */
async function openAsked(
  boundary: Boundary,
  given: string,
  asked: AskedLines,
): Promise<{ readonly file: InsideFile; readonly lines: AskedLines }> {
  const { openInside } = await import('./at-first-call.ts');
  const named = readPathLines(given);
  if (named === undefined) return { file: await openInside(boundary, given), lines: asked };
  try {
    return { file: await openInside(boundary, given), lines: asked };
  } catch (error) {
    if (!(error instanceof ToolError && error.code === 'NOT_FOUND')) throw error;
  }
  if (Object.keys(asked).length > 0) {
    const message = `${quoted(given)} names its lines: leave out ${Object.keys(asked).join(' and ')}, or the lines in the path`;
    throw new ToolError(message, { code: 'INVALID_RANGE' });
  }
  return { file: await openInside(boundary, named.path), lines: named.lines };
}

function toRange(
  { startLine = 1, startColumn = 1, endLine }: AskedLines,
  maxCharacters = defaultMaxCharacters,
): LineRange {
  if (endLine !== undefined && endLine < startLine) {
    const message = `The last line, ${endLine}, is before the first, ${startLine}`;
    throw new ToolError(message, { code: 'OUT_OF_RANGE' });
  }
  const most = Math.min(maxCharacters, maxMaxCharacters);
  // Two, so that a character outside the basic plane fits: a step that takes nothing would be
  // repeated for ever.
  const range = { startLine, startColumn, maxCharacters: Math.max(2, most) };
  return endLine === undefined ? range : { ...range, endLine };
}

type TextRead = Extract<TextReading, { text: true }>;

/** @throws {ToolError} OUT_OF_RANGE: the file has no such line, or it is too far behind */
function assertReached({ reach, taken }: TextRead, range: LineRange, given: string): void {
  const { startLine, startColumn } = range;
  if (reach === 'short') {
    const message = `Line ${startLine}, column ${startColumn} of ${quoted(given)} is not in its first ${defaultBounds.soughtBytes} bytes, which have ${taken.lines} lines; it is looked for no farther`;
    throw new ToolError(message, { code: 'OUT_OF_RANGE' });
  }
  if (taken.lines < startLine && startLine > 1) {
    const message = `${quoted(given)} has ${taken.lines} lines; there is no line ${startLine}`;
    throw new ToolError(message, { code: 'OUT_OF_RANGE' });
  }
}

/** The line above a file's text: what it is, how much of it, and how to get the rest. */
function headingOf(
  path: string,
  { taken, reach, encoding }: TextRead,
  range: LineRange,
  sizeBytes: number,
): string {
  const { startLine, startColumn, endLine: last } = range;
  const { endLine, lines, next } = taken;
  const isWhole = startLine === 1 && startColumn === 1 && reach === 'end' && endLine === lines;
  const counted = reach === 'end' ? `${lines}` : `more than ${lines}`;
  const facts = [
    isWhole && next === undefined
      ? `${lines} lines`
      : `lines ${startLine} to ${endLine} of ${counted}`,
    ...(encoding === 'utf-8' ? [] : [encoding]),
    `${sizeBytes} bytes`,
  ];
  const heading = `${path}: ${facts.join(', ')}`;
  if (next === undefined) return heading;
  const rest = pathLines(path, { ...next, ...(last === undefined ? {} : { endLine: last }) });
  const cut =
    next.startColumn > 1 ? `line ${endLine} is cut before column ${next.startColumn}, ` : '';
  return `${heading}; ${cut}for the rest read ${quoted(rest, Infinity)}`;
}

/** Relative to the root if there is only one: then it can mean nothing else. */
function shownPath({ base, directories }: Boundary, path: string): string {
  const isRelative = directories.length === 1 && contains(base.path, path);
  return isRelative ? relative(base.path, path).replaceAll('\\', '/') : path;
}

async function readAndClose(
  { handle }: InsideFile,
  given: string,
  range: LineRange,
  options: TextReadOptions,
): Promise<TextReading> {
  try {
    const { readText } = await import('./at-first-call.ts');
    return await readText(handle, range, options);
  } catch (error) {
    if (error instanceof ToolError || systemCode(error) === undefined) throw error;
    const message = `${quoted(given)} ${fsFault(error).phrase}`;
    throw new ToolError(message, { code: 'INACCESSIBLE', cause: error });
  } finally {
    await handle.close();
  }
}
