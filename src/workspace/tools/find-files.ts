/** `find_files`: the files of a root, by glob. */
import { ToolError } from '../../protocol/errors.ts';
import { defineTool } from '../../server/tool.ts';
import type { Tool } from '../../server/tool.ts';
import { selectFiles } from '../file-selection.ts';
import { comparePaths } from '../path-order.ts';
import { ripgrep, ripgrepArguments } from '../ripgrep.ts';
import { withoutDot } from '../search-record.ts';
import type { Workspace } from '../workspace.ts';
import { rootParameter, rootResult, rootUsed, withNote } from './root-parameter.ts';

const defaultLimit = 200;
const maxLimit = 2000;
/** How many files are looked at between two reports of progress. */
const progressStep = 500;

/** Makes `find_files` over a session's workspace. */
export function findFilesTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'find_files',
    title: 'Find files',
    description: `Lists files of the project by glob, sorted by path. Files that .gitignore and the like exclude are left out, and so are hidden ones unless asked for. Symbolic links are not followed. At most "limit" paths a call; pass "nextCursor" back as "cursor", with the same arguments, for more.`,
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
        nextCursor: { type: 'string', description: 'Present where there are more.' },
        problems: {
          type: 'array',
          items: { type: 'string' },
          description: 'What could not be listed.',
        },
      },
      required: ['root', 'files', 'problems'],
      additionalProperties: false,
    },
    async handler({ globs = [], hidden = false, limit = defaultLimit, cursor, root }, context) {
      const selection = selectFiles(globs, hidden);
      const entered = await workspace.enter(context, root);
      const query = await queryKey([entered.root.path, globs, hidden]);
      const after = cursor === undefined ? undefined : readCursor(cursor, query);
      const wanted = Math.min(Math.max(1, limit), maxLimit);

      const files: string[] = [];
      let problems: readonly string[] = [];
      let seen = 0;
      let more = false;
      await workspace.search(entered, context, async (signal, deadline) => {
        const run = {
          args: [
            ...ripgrepArguments,
            '--files',
            '--null',
            '--sort=path',
            ...selection.args,
            '--',
            './',
          ],
          root: entered.root,
          signal,
          deadline,
          separator: '\0',
          onEnd: (end: { readonly problems: readonly string[] }) => ({ problems } = end),
        } as const;
        for await (const { bytes } of ripgrep(run)) {
          const path = withoutDot(bytes.toString('utf8'));
          seen += 1;
          if (seen % progressStep === 0) {
            context.progress(seen, { message: `${seen} files seen, ${files.length} found` });
          }
          if (after !== undefined && comparePaths(path, after) <= 0) continue;
          if (!selection.accepts(path)) continue;
          more = files.length === wanted;
          if (more) break;
          files.push(path);
        }
      });
      if (seen > 0) context.progress(seen + 1, { message: `${files.length} files found` });

      const last = files.at(-1);
      const nextCursor = more && last !== undefined ? writeCursor(last, query) : undefined;
      return {
        structured: {
          root: rootUsed(entered),
          files,
          problems: problems.slice(0, 20),
          ...(nextCursor === undefined ? {} : { nextCursor }),
        },
        content: [
          {
            type: 'text',
            text: withNote(
              [
                files.length === 0 ? `No files match in ${entered.root.path}.` : files.join('\n'),
                ...(nextCursor === undefined ? [] : ['', `There are more: cursor ${nextCursor}`]),
                ...problems.slice(0, 20).map((problem) => `Not listed: ${problem}`),
              ],
              entered,
            ),
          },
        ],
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

function writeCursor(after: string, query: string): string {
  return Buffer.from(`${query}${after}`).toString('base64url');
}

function readCursor(cursor: string, query: string): string {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  if (text.startsWith(query) && text.length > query.length) return text.slice(query.length);
  throw new ToolError(
    'This cursor is of another query: pass the nextCursor of the call before, with the same globs, hidden and root, or start without a cursor.',
    { code: 'INVALID_CURSOR' },
  );
}
