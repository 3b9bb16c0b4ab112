/** `find_files`: files and directories of a root, by glob. */
import { printable, quoted } from 'mcp-actors/internal';
import { defineTool } from 'mcp-actors';
import type { Tool } from 'mcp-actors';
import type { KeptWalk } from '../search/paging.ts';
import type { Workspace } from '../project/workspace.ts';
import { answer, clamp, counted, fileParameters, goOn, listOf } from './file-parameters.ts';
import { rootParameter } from './root-parameter.ts';

const defaultLimit = 200;
const maxLimit = 2000;
/** How long the paths of a page are together. */
const maxPageCharacters = 30_000;
/** How many files are looked at between two reports of progress. */
const progressStep = 500;

/** Makes `find_files` over a session's workspace. */
export function findFilesTool(workspace: Workspace): Tool {
  let kept: KeptWalk | undefined;
  return defineTool({
    name: 'find_files',
    title: 'Find files',
    description: `Finds files and directories of the project by glob, breadth before depth, one path per line; directories end with "/". "packages/*" finds files and directories, "packages/*/" directories alone. What .gitignore and the like exclude is left out, and so is what is hidden, unless asked for: the answer says so. At most "limit" paths a call; the answer says how to go on.`,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    inputSchema: {
      type: 'object',
      properties: {
        ...fileParameters,
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: maxLimit,
          description: `At most so many paths; ${defaultLimit} by default.`,
        },
        root: rootParameter,
      },
      additionalProperties: false,
    },
    async handler({ hidden = false, ignored = false, cursor, root, ...args }, context) {
      const running = await import('./at-first-call.ts');
      const { byBreadth, indexBehind, readCursor, SearchProblems } = running;
      const entered = await workspace.enter(context, root);
      const { path: base, identity } = entered.root;
      const [globs, types] = [listOf(args.globs), listOf(args.type)];
      const query = await running.queryKey([base, identity, globs, types, hidden, ignored]);
      const from = readCursor(cursor, query)?.path;
      const problems = new SearchProblems();
      kept ??= new running.KeptWalk(byBreadth);
      const walk =
        (from === undefined ? undefined : kept.at(query, from)) ??
        (await workspace.search(entered, context, async (signal, deadline) => {
          const typeGlobs = await running.globsOfTypes(types, entered.root, signal);
          const pathOf = (glob: string) => running.findGlobPath(entered.boundary, glob);
          const choice = { globs, types: typeGlobs, purpose: 'find', root: base, pathOf } as const;
          return await running.walkTree({
            boundary: entered.boundary,
            selection: await running.selectFiles(choice, signal),
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
      kept.keep(query, walk);

      const start = from === undefined ? 0 : indexBehind(walk.paths, byBreadth, from);
      const page = pageOf(walk.paths, start, clamp(args.limit ?? defaultLimit, 1, maxLimit));
      const last = page.at(-1);
      const isLast = start + page.length === walk.paths.length && !walk.isCut;
      const heading = [
        `${page.length === walk.total ? counted(walk.total, 'path') : `${page.length} of ${counted(walk.total, 'path')}`} in ${base}${from === undefined ? '' : `, behind ${from}`}.`,
        ...(isLast || last === undefined
          ? []
          : [goOn('There are more', running.writeCursor({ path: last }, query))]),
        ...walk.missing.map((path) => `${quoted(path)} does not exist.`),
        ...(from === undefined ? walk.leftOut.sentences() : []),
        ...(walk.isWhole ? [] : ['The time was over before all was listed: use narrower globs.']),
        ...problems.list().map((problem) => `Not listed: ${problem}`),
      ];
      return answer(entered, heading, page);
    },
  });
}

function pageOf(paths: readonly string[], start: number, limit: number): readonly string[] {
  const most = paths.slice(start, start + limit);
  let characters = 0;
  // The first path is on the page, however long it is.
  const end = most.findIndex(
    (path, index) => (characters += printable(path).length + 1) > maxPageCharacters && index > 0,
  );
  return end === -1 ? most : most.slice(0, end);
}
