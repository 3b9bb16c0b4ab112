/** `search_text`: finds lines that contain a text or match a regular expression. */
import { quoted } from 'mcp-actors/internal';
import { defineTool, ToolError } from 'mcp-actors';
import type { Tool } from 'mcp-actors';
import { maxLineBytes, maxLineCharacters } from '../search/line-bounds.ts';
import type { WalkCache, Position } from '../search/paging.ts';
import type { TextSearchRun } from '../search/text-search.ts';
import type { WalkedTree } from '../search/tree-walk.ts';
import type { Workspace } from '../project/workspace.ts';
import { answer, clamp, fileParameters, listOf } from './file-parameters.ts';
import { rootParameter } from './root-parameter.ts';
import { formatResults, nextPageHints, searchHeading, searchModes } from './search-answer.ts';

const defaultLimit = 100;
const maxLimit = 1000;
const maxContextLines = 10;

const otherEncodings =
  'Non-ASCII characters are only found in UTF-8, and in UTF-16 with a byte order mark.';

const caseArguments = {
  sensitive: '--case-sensitive',
  insensitive: '--ignore-case',
  smart: '--smart-case',
} as const;

/** Creates `search_text` for a session's workspace. */
export function searchTextTool(workspace: Workspace): Tool {
  let kept: WalkCache | undefined;
  return defineTool({
    name: 'search_text',
    title: 'Search text',
    description: `Searches the project's text files line by line for a literal text or a regular expression (Rust syntax: no look-around, no back-references), in path order. "12: text" is a match, "13- text" is context, and "--" separates groups. Hidden files and files excluded by .gitignore and similar are left out unless requested; the result says so. Returns at most "limit" matching lines per call and explains how to continue. Lines over ${maxLineCharacters} characters are truncated around the match; lines over ${maxLineBytes / 1024} KiB are reported instead of searched. Files are searched as UTF-8, or as UTF-16 if they start with a byte order mark: in other encodings only ASCII text is found.`,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    inputSchema: {
      type: 'object',
      properties: {
        pattern: {
          type: 'string',
          minLength: 1,
          maxLength: 10_000,
          description: 'Text to find, within one line.',
        },
        regex: {
          type: 'boolean',
          description: 'True if the pattern is a regular expression. Default: literal text.',
        },
        case: {
          type: 'string',
          enum: ['sensitive', 'insensitive', 'smart'],
          description:
            'smart (default): case-insensitive unless the pattern contains a capital letter.',
        },
        mode: {
          type: 'string',
          enum: searchModes,
          description:
            'lines (default): the matching lines. files: only the files with matches. count: the number of matching lines per file and in total.',
        },
        contextLines: {
          type: 'integer',
          minimum: 0,
          maximum: maxContextLines,
          description: 'Lines to show before and after each match; 0 by default.',
        },
        ...fileParameters,
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: maxLimit,
          description: `Maximum number of matching lines, or of files in the other modes; ${defaultLimit} by default.`,
        },
        root: rootParameter,
      },
      required: ['pattern'],
      additionalProperties: false,
    },
    async handler({ hidden = false, ignored = false, cursor, root, ...args }, context) {
      const { pattern, regex = false, mode = 'lines', contextLines = 0 } = args;
      assertPattern(pattern);
      const runtime = await import('./runtime.ts');
      const { byPath, queryKey, SearchProblems } = runtime;
      const entered = await workspace.enter(context, root);
      const { path: base, identity } = entered.root;
      const [globs, types] = [listOf(args.globs), listOf(args.type)];
      const places = [base, identity, globs, types, hidden, ignored];
      const query = await queryKey([...places, pattern, regex, args.case, mode]);
      const position = runtime.readCursor(cursor, query);
      const problems = new SearchProblems();
      const onProblem = (problem: string) => problems.add(problem);
      const walked = await queryKey(places);
      kept ??= new runtime.WalkCache(byPath);
      const known = position === undefined ? undefined : kept.get(walked, position.path);

      return await workspace.search(entered, context, async (signal, deadline) => {
        const { boundary } = entered;
        const walkAnew = async (): Promise<WalkedTree> => {
          const typeGlobs = await runtime.globsOfTypes(types, entered.root, signal);
          const pathOf = (glob: string) => runtime.findGlobPath(boundary, glob);
          const choice = {
            globs,
            types: typeGlobs,
            purpose: 'search',
            root: base,
            pathOf,
          } as const;
          const selection = await runtime.selectFiles(choice, signal);
          const rest = { lists: 'files', order: byPath, from: position?.path } as const;
          const how = { boundary, selection, hidden, ignored, signal, deadline, onProblem };
          return await runtime.walkTree({ ...how, ...rest });
        };
        const walk = known ?? (await walkAnew());
        kept?.set(walked, walk);
        const run: TextSearchRun = {
          boundary,
          paths: pathsFrom(walk.paths, position, (path) =>
            runtime.indexAfter(walk.paths, byPath, path),
          ),
          large: walk.large,
          afterLine: position?.line ?? 0,
          patternArgs: [
            caseArguments[args.case ?? 'smart'],
            ...lineEndArguments(pattern, regex),
            // A single argument, so that a pattern is never parsed as an option.
            `--regexp=${pattern}`,
          ],
          contextLines: clamp(contextLines, 0, maxContextLines),
          limit: clamp(args.limit ?? defaultLimit, 1, maxLimit),
          signal,
          deadline,
          onProblem,
          onMatch: (count, path) => {
            const what = mode === 'lines' ? 'matching lines' : 'files with matches';
            context.progress(count, { message: `${count} ${what}, now in ${quoted(path)}` });
          },
        };
        const found =
          mode === 'lines'
            ? await runtime.findLines(run)
            : await runtime.findCounts(run, mode === 'count' && position === undefined);
        const next = found.next ?? (found.endedBy === undefined ? endOf(walk) : undefined);
        const asked = { mode, isFirst: position === undefined, base };
        return answer(
          entered,
          [
            searchHeading(found, walk, asked),
            ...nextPageHints(found, next && runtime.writeCursor(next, query)),
            ...(found.files.length === 0 && /\P{ASCII}/u.test(pattern) ? [otherEncodings] : []),
            ...walk.missing.map((path) => `${quoted(path)} does not exist.`),
            ...(asked.isFirst ? walk.omitted.sentences() : []),
            ...problems.list().map((problem) => `Not searched: ${problem}`),
          ],
          formatResults(found, mode),
        );
      });
    },
  });
}

/** After a truncated walk, the next page starts after its last path. */
function endOf({ isCut, paths }: WalkedTree): Position | undefined {
  const last = paths.at(-1);
  return isCut && last !== undefined ? { path: last } : undefined;
}

function pathsFrom(
  paths: readonly string[],
  position: Position | undefined,
  indexAfter: (path: string) => number,
): readonly string[] {
  if (position === undefined) return paths;
  const behind = indexAfter(position.path);
  const isThere = position.line !== undefined && paths[behind - 1] === position.path;
  return paths.slice(isThere ? behind - 1 : behind);
}

/**
 * Lets `$` match before `\r
 * `. With that option, ripgrep rejects patterns that mention the carriage return, such as `\r?$`,
 * which work without it.
 */
function lineEndArguments(pattern: string, regex: boolean): readonly string[] {
  if (!regex) return ['--fixed-strings'];
  const namesReturn = /(?<!\\)(?:\\\\)*\\(?:r|[xuU]\{?0*[dD](?![0-9a-fA-F]))/.test(pattern);
  return namesReturn ? [] : ['--crlf'];
}

function assertPattern(pattern: string): void {
  if (pattern !== '' && !/[\n\r\0]/.test(pattern)) return;
  throw new ToolError(
    'Pattern must be non-empty text within one line, without line breaks or NUL',
    { code: 'INVALID_PATTERN' },
  );
}
