/** `read_file`: reads text files, whole or by lines, and shows images and audio. */
import { printableLines } from 'mcp-actors/internal';
import { content, defineTool, ToolError } from 'mcp-actors';
import type { ContentBlock, Tool } from 'mcp-actors';
import type { RequestedLines } from '../text/path-lines.ts';
import type { Workspace } from '../project/workspace.ts';
import type { ReadOutcome } from './read-files.ts';
import { rootParameter } from './root-parameter.ts';

const defaultMaxCharacters = 30_000;
const maxMaxCharacters = 400_000;
const maxPaths = 20;

/** Creates `read_file` for a session's workspace. */
export function readFileTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'read_file',
    title: 'Read files',
    description: `Reads text files of the project, whole or by lines, and shows images and audio. A line above each text tells which lines it contains, out of how many, and how to read the rest; an empty line follows it. Other binary files are refused with their size and kind.`,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    // Lets callers receive more than the default. Claude Code would otherwise truncate the result
    // to a preview.
    _meta: { 'anthropic/maxResultSizeChars': maxMaxCharacters + 10_000 },
    inputSchema: {
      type: 'object',
      properties: {
        path: {
          type: 'string',
          description:
            'Relative to the root, or absolute inside one of the roots. May include lines: "src/x.ts:10-40", or "src/x.ts:10" to read from there on.',
        },
        paths: {
          type: 'array',
          items: { type: 'string' },
          maxItems: maxPaths,
          description: `Several files instead of "path", in the same form: up to ${maxPaths}.`,
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
        tail: {
          type: 'integer',
          minimum: 1,
          maximum: 100_000,
          description: 'Number of last lines to read, instead of startLine and endLine.',
        },
        lineNumbers: {
          type: 'boolean',
          description: 'Prefix each line with its number and a tab.',
        },
        maxCharacters: {
          type: 'integer',
          minimum: 1,
          maximum: maxMaxCharacters,
          description: `Maximum characters of text to return for all files together, in whole lines if at least one fits; ${defaultMaxCharacters} by default.`,
        },
        root: rootParameter,
      },
      additionalProperties: false,
    },
    async handler({ path, paths, root, maxCharacters, lineNumbers, tail, ...lines }, context) {
      const request = {
        paths: givenPaths(path, paths),
        lines: givenLines(lines, tail),
        tail,
        numbered: lineNumbers === true,
        maxCharacters: Math.min(maxCharacters ?? defaultMaxCharacters, maxMaxCharacters),
      };
      const { readFiles } = await import('./runtime.ts');
      const entered = await workspace.enter(context, root);
      const outcomes = await readFiles(request, { workspace, entered, context });
      const [only] = outcomes;
      if (only instanceof ToolError && outcomes.length === 1) throw only;
      const note = entered.takeNote();
      return {
        content: outcomes.flatMap((outcome, at) =>
          blocksOf(outcome, note !== undefined && at === 0 ? [note] : []),
        ),
        isError: outcomes.every((outcome) => outcome instanceof ToolError),
      };
    },
  });
}

/** @throws {ToolError} INVALID_PATH unless exactly one of them is given */
function givenPaths(path: string | undefined, paths: readonly string[] = []): readonly string[] {
  if (path !== undefined && paths.length === 0) return [path];
  if (path === undefined && paths.length > 0) return paths;
  const message =
    path === undefined
      ? 'No file given: pass "path", or several in "paths"'
      : 'Give either "path" or "paths", not both';
  throw new ToolError(message, { code: 'INVALID_PATH' });
}

/** @throws {ToolError} INVALID_RANGE */
function givenLines(lines: RequestedLines, tail: number | undefined): RequestedLines {
  if (tail !== undefined && Object.keys(lines).length > 0) {
    const message = `"tail" must not be combined with ${Object.keys(lines).join(' and ')}: it counts from the end`;
    throw new ToolError(message, { code: 'INVALID_RANGE' });
  }
  return lines;
}

/** One block per file, so that no file content can pass for the heading of the next. */
function blocksOf(outcome: ReadOutcome, notes: readonly string[]): readonly ContentBlock[] {
  if (outcome instanceof ToolError) {
    return [content.text(printableLines([`${outcome.code}: ${outcome.message}`, ...notes]))];
  }
  const { heading, text, media } = outcome;
  const above = printableLines([heading, ...notes]);
  const block = content.text(text === '' ? above : `${above}\n\n${text}`);
  return media === undefined ? [block] : [block, media];
}
