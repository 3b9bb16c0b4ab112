/** `search_text`: lines that contain a text or match a regular expression. */
import { quoted } from 'mcp-actors/internal';
import { defineTool, ToolError } from 'mcp-actors';
import type { Tool } from 'mcp-actors';
import { maxLineBytes, maxLineCharacters } from '../search/line-bounds.ts';
import type { KeptWalk, Position } from '../search/paging.ts';
import type { TextSearchRun } from '../search/text-search.ts';
import type { WalkedTree } from '../search/tree-walk.ts';
import type { Workspace } from '../project/workspace.ts';
import { answer, clamp, fileParameters, listOf } from './file-parameters.ts';
import { rootParameter } from './root-parameter.ts';
import { foundText, howToGoOn, searchHeading, searchModes } from './search-answer.ts';

const defaultLimit = 100;
const maxLimit = 1000;
const maxContextLines = 10;

const otherEncodings =
  'Characters beyond ASCII are found in UTF-8, and in UTF-16 with a byte order mark, not in other encodings.';

const caseArguments = {
  sensitive: '--case-sensitive',
  insensitive: '--ignore-case',
  smart: '--smart-case',
} as const;

/** Makes `search_text` over a session's workspace. */
export function searchTextTool(workspace: Workspace): Tool {
  let kept: KeptWalk | undefined;
  return defineTool({
    name: 'search_text',
    title: 'Search text',
    description: `Searches the project's text files line by line for a literal text or a regular expression (Rust syntax: no look-around, no back-references), in order of path. "12: text" is a match, "13- text" its context, "--" stands between groups. What .gitignore and the like exclude is left out, and so is what is hidden, unless asked for: the answer says so. At most "limit" matching lines a call; the answer says how to go on. Lines over ${maxLineCharacters} characters are cut around the match; lines over ${maxLineBytes / 1024} KiB are not searched but named. Files are searched as UTF-8, or as UTF-16 if they begin with a byte order mark: in other encodings only ASCII text is found.`,
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
        case: {
          type: 'string',
          enum: ['sensitive', 'insensitive', 'smart'],
          description: 'smart (the default): insensitive unless the pattern has a capital letter.',
        },
        mode: {
          type: 'string',
          enum: searchModes,
          description:
            'lines (the default): the matching lines. files: only which files have a match. count: how many lines of each file match, and of all.',
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
          description: `At most so many matching lines, or files in the other modes; ${defaultLimit} by default.`,
        },
        root: rootParameter,
      },
      required: ['pattern'],
      additionalProperties: false,
    },
    async handler({ hidden = false, ignored = false, cursor, root, ...args }, context) {
      const { pattern, regex = false, mode = 'lines', contextLines = 0 } = args;
      assertPattern(pattern);
      const running = await import('./at-first-call.ts');
      const { byPath, queryKey, SearchProblems } = running;
      const entered = await workspace.enter(context, root);
      const { path: base, identity } = entered.root;
      const [globs, types] = [listOf(args.globs), listOf(args.type)];
      const places = [base, identity, globs, types, hidden, ignored];
      const query = await queryKey([...places, pattern, regex, args.case, mode]);
      const position = running.readCursor(cursor, query);
      const problems = new SearchProblems();
      const onProblem = (problem: string) => problems.add(problem);
      const walked = await queryKey(places);
      kept ??= new running.KeptWalk(byPath);
      const known = position === undefined ? undefined : kept.at(walked, position.path);

      return await workspace.search(entered, context, async (signal, deadline) => {
        const { boundary } = entered;
        const walkAnew = async (): Promise<WalkedTree> => {
          const typeGlobs = await running.globsOfTypes(types, entered.root, signal);
          const pathOf = (glob: string) => running.findGlobPath(boundary, glob);
          const choice = {
            globs,
            types: typeGlobs,
            purpose: 'search',
            root: base,
            pathOf,
          } as const;
          const selection = await running.selectFiles(choice, signal);
          const rest = { lists: 'files', order: byPath, from: position?.path } as const;
          const how = { boundary, selection, hidden, ignored, signal, deadline, onProblem };
          return await running.walkTree({ ...how, ...rest });
        };
        const walk = known ?? (await walkAnew());
        kept?.keep(walked, walk);
        const run: TextSearchRun = {
          boundary,
          paths: pathsFrom(walk.paths, position, (path) =>
            running.indexBehind(walk.paths, byPath, path),
          ),
          large: walk.large,
          afterLine: position?.line ?? 0,
          patternArgs: [
            caseArguments[args.case ?? 'smart'],
            ...lineEndArguments(pattern, regex),
            // One argument, so that a pattern can never be read as an option.
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
            ? await running.findLines(run)
            : await running.findCounts(run, mode === 'count' && position === undefined);
        const next = found.next ?? (found.endedBy === undefined ? endOf(walk) : undefined);
        const asked = { mode, isFirst: position === undefined, base };
        return answer(
          entered,
          [
            searchHeading(found, walk, asked),
            ...howToGoOn(found, next && running.writeCursor(next, query)),
            ...(found.files.length === 0 && /\P{ASCII}/u.test(pattern) ? [otherEncodings] : []),
            ...walk.missing.map((path) => `${quoted(path)} does not exist.`),
            ...(asked.isFirst ? walk.leftOut.sentences() : []),
            ...problems.list().map((problem) => `Not searched: ${problem}`),
          ],
          foundText(found, mode),
        );
      });
    },
  });
}

/** A walk that was cut goes on behind its last path. */
function endOf({ isCut, paths }: WalkedTree): Position | undefined {
  const last = paths.at(-1);
  return isCut && last !== undefined ? { path: last } : undefined;
}

function pathsFrom(
  paths: readonly string[],
  position: Position | undefined,
  indexBehind: (path: string) => number,
): readonly string[] {
  if (position === undefined) return paths;
  const behind = indexBehind(position.path);
  const isThere = position.line !== undefined && paths[behind - 1] === position.path;
  return paths.slice(isThere ? behind - 1 : behind);
}

/**
 * Lets `$` match in front of `\r\n`. A pattern that names the carriage return itself, such as
 * `\r?$`, would be refused then, and works without.
 */
function lineEndArguments(pattern: string, regex: boolean): readonly string[] {
  if (!regex) return ['--fixed-strings'];
  const namesReturn = /(?<!\\)(?:\\\\)*\\(?:r|[xuU]\{?0*[dD](?![0-9a-fA-F]))/.test(pattern);
  return namesReturn ? [] : ['--crlf'];
}

function assertPattern(pattern: string): void {
  if (pattern !== '' && !/[\n\r\0]/.test(pattern)) return;
  throw new ToolError(
    'A pattern is a text within one line: not empty, without line breaks and NUL',
    { code: 'INVALID_PATTERN' },
  );
}
