/** A directory with what is in it, some levels deep and of bounded size. */
import { isUtf8 } from 'node:buffer';
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { disk } from 'mcp-actors/internal';
import type { Boundary } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import { isSliceOver, nextSlice } from '../globs/time-slices.ts';
import type { WalkedTree } from './tree-walk.ts';
import { startAt } from './walk-starts.ts';
import type { Start } from './walk-starts.ts';

export interface TreeEntry {
  readonly name: string;
  /** Relative to the root. */
  readonly path: string;
  readonly kind: 'directory' | 'file' | 'link' | 'special';
  /** `ignored`: by a rule; `closed`: of git, which nobody lists by mistake. */
  readonly standing: 'listed' | 'ignored' | 'closed';
  /** Of a file. */
  sizeBytes?: number;
  /** Of a link: where it leads, or why nowhere. */
  target?: string;
  /** Of a directory: how many files are below it that no rule ignores. */
  files?: number;
  /** Of a directory that was entered. */
  content?: DirectoryContent;
}

export interface DirectoryContent {
  /** Directories first, then the rest, by name. */
  readonly entries: readonly TreeEntry[];
  /** How many entries are not shown behind these. */
  readonly more: number;
  /** How many have a name that is not UTF-8: no text stands for it. */
  readonly unnamed: number;
  /** Why it could not be read. */
  readonly fault?: string;
}

export interface DirectoryTreeRun {
  readonly boundary: Boundary;
  /** The directory that is listed. */
  readonly start: Start;
  /** What is below it, hidden files too. */
  readonly walk: WalkedTree;
  /** 1: its own entries alone. */
  readonly depth: number;
  /** Entries in all. */
  readonly limit: number;
  /** Only entries behind this one are shown: a value of {@link sortKeyOf}. */
  readonly after: string | undefined;
  /** Ends it with its reason. */
  readonly signal: AbortSignal;
  /** Ends it with what it has. */
  readonly deadline: AbortSignal;
}

/** How many entries of a directory are worth showing if there is no room for all. */
const leastShare = 4;

/** What entries of a directory are sorted by. */
export function sortKeyOf({ kind, name }: Pick<TreeEntry, 'kind' | 'name'>): string {
  return `${kind === 'directory' ? 0 : 1}${name}`;
}

/**
 * Lists level by level, so that a large directory leaves room for its neighbours: those of a level
 * share what the levels above have left.
 *
 * @throws the signal's reason
 */
export async function listTree(run: DirectoryTreeRun): Promise<DirectoryContent> {
  const { walk, depth, start, signal, deadline } = run;
  const counts = await countFiles(walk.paths, signal);
  const content = await readContent(run, start.shown, run.limit, run.after);
  let left = run.limit - content.entries.length;
  let level = content.entries;
  for (let at = 1; at <= depth; at += 1) {
    const directories = level.filter((entry) => entry.kind === 'directory');
    const next: TreeEntry[] = [];
    // A few entries of many directories would tell less than how much there is in each.
    const isWorthwhile = at < depth && left >= leastShare * directories.length;
    for (const [index, entry] of directories.entries()) {
      entry.files = counts.get(entry.path) ?? 0;
      signal.throwIfAborted();
      const share = Math.floor(left / (directories.length - index));
      if (!isWorthwhile || entry.standing !== 'listed' || deadline.aborted) continue;
      entry.content = await readContent(run, entry.path, share, undefined);
      left -= entry.content.entries.length;
      next.push(...entry.content.entries);
    }
    level = next;
  }
  return content;
}

/** How many files are below each directory. */
async function countFiles(
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const path of paths) {
    if (isSliceOver()) await nextSlice(signal);
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const directory = path.slice(0, end);
      counts.set(directory, (counts.get(directory) ?? 0) + 1);
    }
  }
  return counts;
}

async function readContent(
  run: DirectoryTreeRun,
  directory: string,
  most: number,
  after: string | undefined,
): Promise<DirectoryContent> {
  try {
    const named = await readEntries(run, directory);
    const all = named.entries
      .filter((entry) => after === undefined || sortKeyOf(entry) > after)
      .sort((left, right) => (sortKeyOf(left) < sortKeyOf(right) ? -1 : 1));
    const entries = all.slice(0, most);
    for (const entry of entries) await describe(run, entry);
    return { entries, more: all.length - entries.length, unnamed: named.unnamed };
  } catch (error) {
    if (error instanceof ToolError && error.code !== 'ROOT_UNAVAILABLE') {
      return { entries: [], more: 0, unnamed: 0, fault: error.message };
    }
    if (error instanceof ToolError || disk.systemCode(error) === undefined) throw error;
    return { entries: [], more: 0, unnamed: 0, fault: disk.describeFsError(error).phrase };
  }
}

async function readEntries(
  { boundary, walk }: DirectoryTreeRun,
  directory: string,
): Promise<{ readonly entries: readonly TreeEntry[]; readonly unnamed: number }> {
  // Looked at again: a link may have taken its place since it was found.
  const start = await startAt(boundary, directory);
  if (start === undefined) return { entries: [], unnamed: 0 };
  const [entries = []] = await disk.readDirectories([start.real]);
  if (entries instanceof Error) throw entries;
  const named = await namedOf(start.real, entries);
  const described = named.map((entry): TreeEntry => {
    const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
    const kind = entry.isDirectory()
      ? 'directory'
      : entry.isSymbolicLink()
        ? 'link'
        : entry.isFile()
          ? 'file'
          : 'special';
    const standing =
      entry.name === '.git' ? 'closed' : walk.leftOut.has('ignored', path) ? 'ignored' : 'listed';
    return { name: entry.name, path, kind, standing };
  });
  return { entries: described, unnamed: entries.length - named.length };
}

/** The entries whose names are UTF-8. Others decode to names with U+FFFD, as some names have it. */
async function namedOf(directory: string, entries: readonly Dirent[]): Promise<readonly Dirent[]> {
  const isDoubtful = ({ name }: Dirent): boolean => name.includes('\ufffd');
  if (!entries.some(isDoubtful)) return entries;
  const names = await disk.readNames(directory);
  const left = new Set(names.filter((name) => isUtf8(name)).map((name) => name.toString()));
  // Several names decode to the same text: one of them may be meant.
  return entries.filter((entry) => !isDoubtful(entry) || left.delete(entry.name));
}

/** Finds a file's size and a link's end. */
async function describe({ boundary }: DirectoryTreeRun, entry: TreeEntry): Promise<void> {
  try {
    if (entry.kind === 'file') {
      entry.sizeBytes = (await disk.lstat(join(boundary.base.path, entry.path))).size;
    } else if (entry.kind === 'link') {
      const end = await startAt(boundary, entry.path);
      const slash = end?.kind === 'directory' ? '/' : '';
      entry.target = end === undefined ? 'nothing' : `${end.inRoot ?? end.real}${slash}`;
    }
  } catch (error) {
    if (error instanceof ToolError && error.code === 'OUTSIDE_ROOTS') {
      entry.target = 'outside of the roots';
    } else if (error instanceof ToolError) entry.target = error.message;
    else if (disk.systemCode(error) === undefined) throw error;
    // A file that has gone since has no size.
  }
}
