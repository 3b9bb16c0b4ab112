/** `list_directory`: shows a directory as a tree. */
import { printable, quoted } from 'mcp-actors/internal';
import { defineTool, ToolError } from 'mcp-actors';
import type { Tool } from 'mcp-actors';
import type { DirectoryContent, TreeEntry } from '../search/directory-tree.ts';
import type { Start } from '../search/walk-starts.ts';
import type { Workspace } from '../project/workspace.ts';
import { answer, clamp, formatCount, fileParameters, nextPageHint } from './file-parameters.ts';
import { rootParameter } from './root-parameter.ts';

const defaultDepth = 2;
const maxDepth = 10;
const defaultLimit = 300;
const maxLimit = 1000;
/** Total length of the lines. */
const maxCharacters = 30_000;

/** Creates `list_directory` for a session's workspace. */
export function listDirectoryTool(workspace: Workspace): Tool {
  return defineTool({
    name: 'list_directory',
    title: 'List a directory',
    description: `Shows a directory as a tree, ${defaultDepth} levels deep by default: directories with the number of files below them, files with their sizes, links with their targets, including hidden ones. Entries excluded by .gitignore and similar are marked "ignored" and not entered. Entries that do not fit are counted; the result explains how to see them.`,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    inputSchema: {
      type: 'object',
      properties: {
        path: {
          type: 'string',
          minLength: 1,
          description: 'Relative to the root, or absolute inside it. Default: the root.',
        },
        depth: {
          type: 'integer',
          minimum: 1,
          maximum: maxDepth,
          description: `Number of levels; 1 shows only the directory's own entries. ${defaultDepth} by default.`,
        },
        ignored: {
          type: 'boolean',
          description: 'Enter and count entries excluded by .gitignore and similar as well.',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: maxLimit,
          description: `Maximum number of entries; ${defaultLimit} by default.`,
        },
        cursor: fileParameters.cursor,
        root: rootParameter,
      },
      additionalProperties: false,
    },
    async handler({ path = '.', ignored = false, cursor, root, ...args }, context) {
      const runtime = await import('./runtime.ts');
      const entered = await workspace.enter(context, root);
      const { boundary } = entered;
      const start = await runtime.resolveStart(boundary, path, path);
      if (start === undefined) {
        const error = new ToolError(`${quoted(path)} does not exist`, { code: 'NOT_FOUND' });
        throw await runtime.addSuggestions(error, path, { workspace, entered, context });
      }
      if (start.kind !== 'directory') {
        const message = `${quoted(path)} is not a directory; use read_file to read a file`;
        throw new ToolError(message, { code: 'NOT_A_DIRECTORY' });
      }
      const shown = start.inRoot ?? start.real;
      const query = await runtime.queryKey([entered.root.identity, start.real, ignored]);
      const after = runtime.readCursor(cursor, query)?.path;
      const depth = clamp(args.depth ?? defaultDepth, 1, maxDepth);
      const problems = new runtime.SearchProblems();
      return await workspace.search(entered, context, async (signal, deadline) => {
        const walk = await runtime.walkTree({
          boundary,
          selection: runtime.everythingBelow(shown),
          hidden: true,
          ignored,
          lists: 'files',
          order: runtime.byPath,
          from: undefined,
          signal,
          deadline,
          onProblem: (problem) => problems.add(problem),
        });
        const limit = clamp(args.limit ?? defaultLimit, 1, maxLimit);
        const content = await runtime.listTree({
          ...{ boundary, start: { ...start, shown }, walk, depth, limit, after, signal, deadline },
        });
        const isCounted = walk.isWhole && !walk.isCut;
        const last = content.entries.at(-1);
        const heading = [
          headingOf(
            start,
            entered.root.path,
            walk.total + walk.omitted.count('unnamed'),
            isCounted,
          ),
          ...(content.more === 0 || last === undefined
            ? []
            : [
                nextPageHint(
                  `There are ${formatCount(content.more, 'more entry', 'more entries')}`,
                  runtime.writeCursor({ path: runtime.sortKeyOf(last) }, query),
                ),
              ]),
          ...hintsOf(content),
          ...(content.fault === undefined ? [] : [content.fault]),
          ...problems.list().map((problem) => `Not listed: ${problem}`),
        ];
        const lines = treeText(content, '');
        const cutLines = withinRoom(lines);
        const cut = `Only the first ${cutLines.length} of ${lines.length} lines fit: use a smaller depth or limit.`;
        const isCut = cutLines.length < lines.length;
        return answer(entered, isCut ? [...heading, cut] : heading, cutLines);
      });
    },
  });
}

function headingOf({ inRoot, real }: Start, root: string, files: number, isCounted: boolean) {
  const place = inRoot === undefined ? real : inRoot === '' ? root : `${inRoot} in ${root}`;
  const least = isCounted ? '' : 'at least ';
  return `${place}: ${least}${formatCount(files, 'file')} below it.`;
}

/** Explanations of the marks that occur in a tree. */
function hintsOf(content: DirectoryContent): string[] {
  const inner = contentsBelow(content);
  const hasIgnored = [content, ...inner].some(({ entries }) =>
    entries.some(({ visibility }) => visibility === 'ignored'),
  );
  const unnamed = [content, ...inner].reduce((sum, each) => sum + each.unnamed, 0);
  return [
    ...(unnamed === 0
      ? []
      : [`Not listed: ${formatCount(unnamed, 'entry', 'entries')} whose names are not UTF-8.`]),
    ...(hasIgnored ? ['Ignored entries are not counted or entered; ignored: true does both.'] : []),
    ...(inner.some(({ more }) => more > 0)
      ? ['"… more" did not fit: list that directory by its path.']
      : []),
  ];
}

function contentsBelow({ entries }: DirectoryContent): DirectoryContent[] {
  return entries.flatMap(({ content }) =>
    content === undefined ? [] : [content, ...contentsBelow(content)],
  );
}

function treeText({ entries, more }: DirectoryContent, indent: string): string[] {
  const lines = entries.flatMap((entry) => [
    `${indent}${entryText(entry)}`,
    ...(entry.content === undefined ? [] : treeText(entry.content, `${indent}  `)),
  ]);
  return more === 0 || indent === '' ? lines : [...lines, `${indent}… ${more} more`];
}

function withinRoom(lines: readonly string[]): readonly string[] {
  let characters = 0;
  const end = lines.findIndex((line) => (characters += printable(line).length + 1) > maxCharacters);
  return end === -1 ? lines : lines.slice(0, end);
}

function entryText(entry: TreeEntry): string {
  const { name, kind, visibility, sizeBytes, target, files, content } = entry;
  const facts = [
    ...(visibility === 'ignored' ? ['ignored'] : []),
    ...(visibility === 'closed' && kind === 'directory' ? ['not entered'] : []),
    ...(visibility === 'listed' && kind === 'directory' && (files ?? 0) > 0
      ? [formatCount(files ?? 0, 'file')]
      : []),
    ...(kind === 'special' ? ['device, pipe or socket'] : []),
    ...(content?.fault === undefined ? [] : [content.fault]),
    ...(visibility === 'listed' &&
    kind === 'directory' &&
    files === 0 &&
    content?.entries.length === 0 &&
    content.unnamed === 0
      ? ['empty']
      : []),
  ];
  const size = sizeBytes === undefined ? '' : ` ${sizeText(sizeBytes)}`;
  const end = target === undefined ? '' : ` -> ${target}`;
  return `${name}${kind === 'directory' ? '/' : ''}${end}${size}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`;
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const isSmall = bytes < 1024 ** 2;
  const [size, unit] = isSmall ? [bytes / 1024, 'KB'] : [bytes / 1024 ** 2, 'MB'];
  return `${size.toFixed(size < 10 ? 1 : 0)} ${unit}`;
}
