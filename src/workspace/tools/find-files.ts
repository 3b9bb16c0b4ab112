/** `find_files`: the files of a root, by glob. */
import { quoted } from '../../protocol/printable.ts';
import { ToolError } from '../../protocol/errors.ts';
import { defineTool } from '../../define/tool.ts';
import type { Tool } from '../../define/tool.ts';
import type { FilePages } from '../search/file-walk.ts';
import type { Workspace } from '../project/workspace.ts';
import { rootParameter, rootResult, rootUsed, withNote } from './root-parameter.ts';

const defaultLimit = 200;
const maxLimit = 2000;
/** How many files are looked at between two reports of progress. */
const progressStep = 500;

/** Makes `find_files` over a session's workspace. */
export function findFilesTool(workspace: Workspace): Tool {
  let pages: FilePages | undefined;
  return defineTool({
    name: 'find_files',
    title: 'Find files',
    description: `Lists files of the project by glob, sorted by path. Files that .gitignore and the like exclude are left out, and so are hidden ones unless asked for. Symbolic links are not followed. At most "limit" paths a call, fewer if they are long; pass "nextCursor" back as "cursor", with the same arguments, for more.`,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    inputSchema: {
      type: 'object',
      properties: {
        globs: {
          type: 'array',
          items: { type: 'string', minLength: 1, maxLength: 1000 },
          maxItems: 64,
          description:
            'Which files: "*.ts" at any depth, "src/**/*.ts" from the root, "docs" with all below it, "!*.test.ts" excludes. All files by default.',
        },
        hidden: {
          type: 'boolean',
          description: 'Also files and directories that begin with a dot (never .git).',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: maxLimit,
          description: `At most so many paths; ${defaultLimit} by default.`,
        },
        cursor: { type: 'string', description: 'The nextCursor of the call before.' },
        root: rootParameter,
      },
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        root: rootResult,
        files: {
          type: 'array',
          items: { type: 'string' },
          description: 'Paths relative to the root, with "/".',
        },
        nextCursor: { type: 'string', description: 'Present if there are more.' },
        problems: {
          type: 'array',
          items: { type: 'string' },
          description: 'What could not be listed, files whose names are not UTF-8 among it.',
        },
      },
      required: ['root', 'files', 'problems'],
      additionalProperties: false,
    },
    async handler({ globs = [], hidden = false, limit = defaultLimit, cursor, root }, context) {
      const running = await import('./at-first-call.ts');
      const { selectFiles, walkFiles, markedRecords, ripgrep, ripgrepArguments } = running;
      const { SearchProblems } = running;
      const selection = await selectFiles(globs, hidden, context.signal);
      const entered = await workspace.enter(context, root);
      const { path, identity } = entered.root;
      const query = await queryKey([path, identity, globs, hidden]);
      const after = cursor === undefined ? undefined : readCursor(cursor, query);
      const wanted = Math.min(Math.max(1, limit), maxLimit);

      const met = new SearchProblems();
      let seen = 0;
      const walk = async (signal: AbortSignal, deadline: AbortSignal) => {
        const args = ['--files', '--null', '--sort=path', ...selection.args, '--', './'];
        const records = ripgrep({
          args: [...ripgrepArguments, ...args],
          root: entered.root,
          signal,
          deadline,
          records: markedRecords('\0'),
          onEnd: (end) => end.problems.forEach((problem) => met.add(problem)),
        });
        const { accepts } = selection;
        const onFile = (count: number, found: number) => {
          seen = count;
          if (seen % progressStep !== 0) return;
          context.progress(seen, { message: `${seen} files seen, ${found} found` });
        };
        return await walkFiles({ records, deadline, accepts, after, limit: wanted, onFile });
      };
      const search = async () => await workspace.search(entered, context, walk);
      const { files, unnamed, next } = await (pages ??= new running.FilePages()).page(
        query,
        after,
        wanted,
        search,
      );
      if (seen > 0) context.progress(seen + 1, { message: `${files.length} files found` });

      const problems = met.list();
      const [example] = unnamed;
      if (example !== undefined) {
        const name = quoted(Buffer.from(example).toString());
        problems.unshift(`${unnamed.length} files with names that are not UTF-8, such as ${name}`);
      }
      const nextCursor = next === undefined ? undefined : writeCursor(next, query);
      const none = `No files match in ${path}${next === undefined ? '' : ' so far'}.`;
      const lines = [
        ...(files.length === 0 ? [none] : files),
        ...(nextCursor === undefined ? [] : ['', `There are more: cursor ${nextCursor}`]),
        ...problems.map((problem) => `Not listed: ${problem}`),
      ];
      return {
        structured: {
          root: rootUsed(entered),
          files,
          problems,
          ...(nextCursor === undefined ? {} : { nextCursor }),
        },
        content: [{ type: 'text', text: withNote(lines, entered) }],
      };
    },
  });
}

/** A cursor belongs to one query: it would skip at random in another. */
async function queryKey(query: readonly unknown[]): Promise<string> {
  // A server that has just been launched answers its first messages without it.
  const { createHash } = await import('node:crypto');
  return createHash('sha256').update(JSON.stringify(query)).digest('base64url').slice(0, 16);
}

function writeCursor(after: Uint8Array, query: string): string {
  return Buffer.concat([Buffer.from(query), after]).toString('base64url');
}

function readCursor(cursor: string, query: string): Uint8Array {
  const bytes = Buffer.from(cursor, 'base64url');
  const after = bytes.subarray(query.length);
  if (bytes.indexOf(query) === 0 && after.length > 0) return after;
  throw new ToolError(
    'This cursor is of another query: pass the nextCursor of the call before, with the same globs, hidden and root, or start without a cursor.',
    { code: 'INVALID_CURSOR' },
  );
}
