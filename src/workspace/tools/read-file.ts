/** `read_file`: a text file, or a range of its lines. */
import { quoted } from '../../protocol/printable.ts';
import { ToolError } from '../../protocol/errors.ts';
import { defineTool } from '../../define/tool.ts';
import type { Tool } from '../../define/tool.ts';
import { fsFault, systemCode } from '../disk/fs-fault.ts';
import type { LineRange } from '../text/line-range.ts';
import type { InsideFile } from '../roots/open-inside.ts';
import { defaultBounds } from '../text/read-bounds.ts';
import type { TextReadOptions, TextReading } from '../text/read-text.ts';
import type { Workspace } from '../project/workspace.ts';
import { rootParameter, rootResult, rootUsed, withNote } from './root-parameter.ts';

const defaultMaxCharacters = 60_000;
const maxMaxCharacters = 400_000;

/** Makes `read_file` over a session's workspace. */
export function readFileTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'read_file',
    title: 'Read a file',
    description: `Reads a text file of the project, or a range of its lines. The text is the file's own, line ends included. If "truncated" is true, call again with the values of "next". Binary files are refused; their size and kind are told.`,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    inputSchema: {
      type: 'object',
      properties: {
        path: {
          type: 'string',
          minLength: 1,
          description: 'Relative to the root, or absolute inside one of the roots.',
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
        startColumn: {
          type: 'integer',
          minimum: 1,
          description:
            'Where to begin in the first line, in characters from 1: for going on inside a very long line.',
        },
        maxCharacters: {
          type: 'integer',
          minimum: 1,
          maximum: maxMaxCharacters,
          description: `The most to return; ${defaultMaxCharacters} by default.`,
        },
        root: rootParameter,
      },
      required: ['path'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        root: rootResult,
        path: { type: 'string', description: 'The real path of the file.' },
        text: { type: 'string' },
        encoding: {
          type: 'string',
          enum: ['utf-8', 'utf-8-bom', 'utf-16le', 'utf-16be', 'unknown-8bit'],
          description:
            'utf-8-bom: UTF-8 with a byte order mark, which is not in the text. unknown-8bit: no UTF-8; what does not decode is U+FFFD.',
        },
        sizeBytes: { type: 'integer', description: 'Of the whole file.' },
        startLine: { type: 'integer' },
        endLine: {
          type: 'integer',
          description:
            'The last line of which something is in the text; startLine - 1 if nothing is.',
        },
        totalLines: {
          type: 'integer',
          description: `Of the whole file; absent if it has more than ${defaultBounds.countedBytes} bytes, of which not all were looked at.`,
        },
        truncated: {
          type: 'boolean',
          description: 'True if maxCharacters ended the text before the range did.',
        },
        next: {
          type: 'object',
          description: 'Present if truncated: the arguments that give the rest.',
          properties: { startLine: { type: 'integer' }, startColumn: { type: 'integer' } },
          required: ['startLine', 'startColumn'],
          additionalProperties: false,
        },
      },
      required: [
        'root',
        'path',
        'text',
        'encoding',
        'sizeBytes',
        'startLine',
        'endLine',
        'truncated',
      ],
      additionalProperties: false,
    },
    async handler({ path: given, root, ...asked }, context) {
      const range = toRange(asked);
      const { openInside } = await import('./at-first-call.ts');
      const entered = await workspace.enter(context, root);
      const file = await openInside(entered.boundary, given);
      const { path, stats } = file;
      const reading = await readAndClose(file, given, range, {
        signal: context.signal,
        sizeBytes: stats.size,
        onRead: (bytes) => context.progress(bytes, { total: Math.max(stats.size, bytes) }),
      });
      if (!reading.text) {
        const message = `${quoted(given)} is not text: ${reading.kind}, ${stats.size} bytes`;
        throw new ToolError(message, { code: 'BINARY_FILE' });
      }
      const { encoding, taken, reach } = reading;
      const { startLine } = range;
      if (reach === 'short') {
        const message = `Line ${startLine}, column ${range.startColumn} of ${quoted(given)} is not in its first ${defaultBounds.soughtBytes} bytes, which have ${taken.lines} lines; it is looked for no farther`;
        throw new ToolError(message, { code: 'OUT_OF_RANGE' });
      }
      if (taken.lines < startLine && startLine > 1) {
        const message = `${quoted(given)} has ${taken.lines} lines; there is no line ${startLine}`;
        throw new ToolError(message, { code: 'OUT_OF_RANGE' });
      }
      const { text, endLine, next } = taken;
      const counted = reach === 'end' ? `${taken.lines}` : `more than ${taken.lines}`;
      const facts = `${path}: lines ${startLine} to ${endLine} of ${counted}, ${encoding}, ${stats.size} bytes`;
      const rest =
        next === undefined
          ? []
          : [
              `Truncated: call again with startLine ${next.startLine}, startColumn ${next.startColumn}.`,
            ];
      return {
        structured: {
          root: rootUsed(entered),
          path,
          text,
          encoding,
          sizeBytes: stats.size,
          startLine,
          endLine,
          ...(reach === 'end' ? { totalLines: taken.lines } : {}),
          truncated: next !== undefined,
          ...(next === undefined ? {} : { next }),
        },
        content: [
          { type: 'text', text },
          { type: 'text', text: withNote([facts, ...rest], entered) },
        ],
      };
    },
  });
}

interface AskedRange {
  readonly startLine?: number;
  readonly endLine?: number;
  readonly startColumn?: number;
  readonly maxCharacters?: number;
}

function toRange({
  startLine = 1,
  endLine,
  startColumn = 1,
  maxCharacters,
}: AskedRange): LineRange {
  if (endLine !== undefined && endLine < startLine) {
    const message = `endLine ${endLine} is before startLine ${startLine}`;
    throw new ToolError(message, { code: 'OUT_OF_RANGE' });
  }
  const most = Math.min(maxCharacters ?? defaultMaxCharacters, maxMaxCharacters);
  // Two, so that a character outside the basic plane fits: a step that takes nothing would be
  // repeated for ever.
  const range = { startLine, startColumn, maxCharacters: Math.max(2, most) };
  return endLine === undefined ? range : { ...range, endLine };
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
