/** `find_files`: finds files and directories of a root by glob. */
import { printable, quoted } from 'mcp-actors/internal';
import { defineTool } from 'mcp-actors';
import type { Tool } from 'mcp-actors';
import type { WalkCache } from '../search/paging.ts';
import type { Workspace } from '../project/workspace.ts';
import {
  answer,
  clamp,
  formatCount,
  fileParameters,
  nextPageHint,
  listOf,
} from './file-parameters.ts';
import { rootParameter } from './root-parameter.ts';

const defaultLimit = 200;
const maxLimit = 2000;
/** Total length of the paths on a page. */
const maxPageCharacters = 30_000;
/** Number of files between two progress reports. */
const progressStep = 500;

/** Creates `find_files` for a session's workspace. */
export function findFilesTool(workspace: Workspace): Tool {
  let kept: WalkCache | undefined;
  return defineTool({
    name: 'find_files',
    title: 'Find files',
    description: `Finds files and directories of the project by glob, breadth first, one path per line; directories end with "/". "packages/*" finds files and directories, "packages/*/" only directories. Hidden files and files excluded by .gitignore and similar are left out unless requested; the result says so. Returns at most "limit" paths per call and explains how to continue.`,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    inputSchema: {
      type: 'object',
      properties: {
        ...fileParameters,
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: maxLimit,
          description: `Maximum number of paths; ${defaultLimit} by default.`,
        },
        root: rootParameter,
      },
      additionalProperties: false,
    },
    async handler({ hidden = false, ignored = false, cursor, root, ...args }, context) {
      const runtime = await import('./runtime.ts');
      const { byBreadth, indexAfter, readCursor, SearchProblems } = runtime;
      const entered = await workspace.enter(context, root);
      const { path: base, identity } = entered.root;
      const [globs, types] = [listOf(args.globs), listOf(args.type)];
      const query = await runtime.queryKey([base, identity, globs, types, hidden, ignored]);
      const from = readCursor(cursor, query)?.path;
      const problems = new SearchProblems();
      kept ??= new runtime.WalkCache(byBreadth);
      const walk =
        (from === undefined ? undefined : kept.get(query, from)) ??
        (await workspace.search(entered, context, async (signal, deadline) => {
          const typeGlobs = await runtime.globsOfTypes(types, entered.root, signal);
          const pathOf = (glob: string) => runtime.findGlobPath(entered.boundary, glob);
          const choice = { globs, types: typeGlobs, purpose: 'find', root: base, pathOf } as const;
          return await runtime.walkTree({
            boundary: entered.boundary,
            selection: await runtime.selectFiles(choice, signal),
            hidden,
            ignored,
            lists: 'entries',
            order: byBreadth,
            from,
            signal,
            deadline,
            onProblem: (problem) => problems.add(problem),
            onFile: (seen, found) => {
              if (seen % progressStep !== 0) return;
              context.progress(seen, { message: `${seen} files seen, ${found} found` });
            },
          });
        }));
      kept.set(query, walk);

      const start = from === undefined ? 0 : indexAfter(walk.paths, byBreadth, from);
      const page = pageOf(walk.paths, start, clamp(args.limit ?? defaultLimit, 1, maxLimit));
      const last = page.at(-1);
      const isLast = start + page.length === walk.paths.length && !walk.isCut;
      const heading = [
        `${page.length === walk.total ? formatCount(walk.total, 'path') : `${page.length} of ${formatCount(walk.total, 'path')}`} in ${base}${from === undefined ? '' : `, after ${from}`}.`,
        ...(isLast || last === undefined
          ? []
          : [nextPageHint('There are more', runtime.writeCursor({ path: last }, query))]),
        ...walk.missing.map((path) => `${quoted(path)} does not exist.`),
        ...(from === undefined ? walk.omitted.sentences() : []),
        ...(walk.isWhole ? [] : ['Timed out before everything was listed: use narrower globs.']),
        ...problems.list().map((problem) => `Not listed: ${problem}`),
      ];
      return answer(entered, heading, page);
    },
  });
}

function pageOf(paths: readonly string[], start: number, limit: number): readonly string[] {
  const most = paths.slice(start, start + limit);
  let characters = 0;
  // The first path always fits, however long it is.
  const end = most.findIndex(
    (path, index) => (characters += printable(path).length + 1) > maxPageCharacters && index > 0,
  );
  return end === -1 ? most : most.slice(0, end);
}
