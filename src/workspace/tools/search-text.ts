/** `search_text`: lines that contain a text or match a regular expression. */
import { quoted } from '../../protocol/printable.ts';
import { ToolError } from '../../protocol/errors.ts';
import { defineTool } from '../../define/tool.ts';
import type { Tool } from '../../define/tool.ts';
import { maxLineBytes, maxLineCharacters } from '../search/line-bounds.ts';
import type { FoundFile, TextSearch } from '../search/text-search.ts';
import type { Workspace } from '../project/workspace.ts';
import { rootParameter, rootResult, rootUsed, withNote } from './root-parameter.ts';

const defaultLimit = 100;
const maxLimit = 1000;
const maxContextLines = 10;

const caseArguments = {
  sensitive: '--case-sensitive',
  insensitive: '--ignore-case',
  smart: '--smart-case',
} as const;

/** Makes `search_text` over a session's workspace. */
export function searchTextTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'search_text',
    title: 'Search text',
    description: `Searches the project's text files line by line for a literal text or a regular expression (Rust syntax: no look-around, no back-references). Ignored, hidden and binary files and symbolic links are left out. At most "limit" matching lines a call: narrow the pattern or the globs if "truncated" is set. Lines over ${maxLineCharacters} characters are cut around the match; lines over ${maxLineBytes / 1024} KiB are not searched but named.`,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    inputSchema: {
      type: 'object',
      properties: {
        pattern: {
          type: 'string',
          minLength: 1,
          maxLength: 10_000,
          description: 'What to look for, within one line.',
        },
        regex: {
          type: 'boolean',
          description: 'True: the pattern is a regular expression. By default it is literal text.',
        },
        globs: {
          type: 'array',
          items: { type: 'string', minLength: 1, maxLength: 1000 },
          maxItems: 64,
          description:
            'Which files, as in find_files: "*.ts", "src/**", "!*.test.ts". All text files by default.',
        },
        case: {
          type: 'string',
          enum: ['sensitive', 'insensitive', 'smart'],
          description: 'smart (the default): insensitive unless the pattern has a capital letter.',
        },
        contextLines: {
          type: 'integer',
          minimum: 0,
          maximum: maxContextLines,
          description: 'Lines to show before and after each match; 0 by default.',
        },
        hidden: {
          type: 'boolean',
          description: 'Also files and directories that begin with a dot (never .git).',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: maxLimit,
          description: `At most so many matching lines; ${defaultLimit} by default.`,
        },
        root: rootParameter,
      },
      required: ['pattern'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        root: rootResult,
        files: {
          type: 'array',
          description: 'Files with matches, sorted by path.',
          items: {
            type: 'object',
            properties: {
              path: { type: 'string', description: 'Relative to the root.' },
              lines: {
                type: 'array',
                items: {
                  type: 'object',
                  properties: {
                    line: { type: 'integer', description: 'From 1.' },
                    text: { type: 'string' },
                    match: { type: 'boolean', description: 'False for a context line.' },
                    column: {
                      type: 'integer',
                      description: 'Where the first match begins, in characters from 1.',
                    },
                    omitted: {
                      type: 'integer',
                      description: 'How many characters of a long line are not shown.',
                    },
                  },
                  required: ['line', 'text', 'match'],
                  additionalProperties: false,
                },
              },
            },
            required: ['path', 'lines'],
            additionalProperties: false,
          },
        },
        matchingLines: { type: 'integer', description: 'How many matching lines are listed.' },
        truncated: {
          type: 'string',
          enum: ['limit', 'size', 'time'],
          description:
            'Present if there are or may be more: the limit, the size of a result or the time of a search was reached.',
        },
        problems: {
          type: 'array',
          items: { type: 'string' },
          description: 'What could not be searched or shown.',
        },
      },
      required: ['root', 'files', 'matchingLines', 'problems'],
      additionalProperties: false,
    },
    async handler(args, context) {
      const { pattern, regex = false, globs = [], contextLines = 0, hidden = false } = args;
      assertPattern(pattern);
      const { selectFiles, collectMatches } = await import('./at-first-call.ts');
      const selection = await selectFiles(globs, hidden, context.signal);
      const entered = await workspace.enter(context, args.root);
      const found = await workspace.search(entered, context, (signal, deadline) =>
        collectMatches({
          boundary: entered.boundary,
          patternArgs: [
            caseArguments[args.case ?? 'smart'],
            ...(regex ? [] : ['--fixed-strings']),
            // One argument, so that a pattern can never be read as an option.
            `--regexp=${pattern}`,
          ],
          fileArgs: selection.args,
          accepts: selection.accepts,
          contextLines: clamp(contextLines, 0, maxContextLines),
          limit: clamp(args.limit ?? defaultLimit, 1, maxLimit),
          signal,
          deadline,
          onMatch: (count, path) =>
            context.progress(count, { message: `${count} matching lines, now in ${quoted(path)}` }),
        }),
      );
      const text = withNote(
        found.files.length === 0
          ? [`No matches in ${entered.root.path}.`, ...footer(found)]
          : [...found.files.flatMap(fileText), ...footer(found)],
        entered,
      );
      return {
        structured: { root: rootUsed(entered), ...found },
        content: [{ type: 'text', text }],
      };
    },
  });
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(least, Math.trunc(value)), most);
}

function assertPattern(pattern: string): void {
  if (pattern !== '' && !/[\n\r\0]/.test(pattern)) return;
  throw new ToolError(
    'A pattern is a text within one line: not empty, without line breaks and NUL',
    {
      code: 'INVALID_PATTERN',
    },
  );
}

function fileText({ path, lines }: FoundFile): string[] {
  const shown = lines.map(({ line, text, match }) => `${line}${match ? ':' : '-'} ${text}`);
  return [path, ...shown, ''];
}

function footer({ matchingLines, truncated, problems }: TextSearch): string[] {
  const more =
    truncated === undefined
      ? []
      : [
          `Truncated after ${matchingLines} matching lines (${truncated}): narrow the pattern or the globs.`,
        ];
  return [...more, ...problems.map((problem) => `Not searched: ${problem}`)];
}
