/** Lists a directory as a tree, limited in depth and size. */
import { isUtf8 } from 'node:buffer';
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { disk } from 'mcp-actors/internal';
import type { Boundary } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import { isSliceOver, nextSlice } from '../globs/time-slices.ts';
import type { WalkedTree } from './tree-walk.ts';
import { resolveStart } from './walk-starts.ts';
import type { Start } from './walk-starts.ts';

export interface TreeEntry {
  readonly name: string;
  /** Relative to the root. */
  readonly path: string;
  readonly kind: 'directory' | 'file' | 'link' | 'special';
  /** `ignored`: excluded by a rule. `closed`: a git directory, never entered. */
  readonly visibility: 'listed' | 'ignored' | 'closed';
  /** Files only. */
  sizeBytes?: number;
  /** Links only: the target, or why it cannot be resolved. */
  target?: string;
  /** Directories only: number of files below that no rule ignores. */
  files?: number;
  /** Set for directories that were entered. */
  content?: DirectoryContent;
}

export interface DirectoryContent {
  /** Directories first, then other entries, each by name. */
  readonly entries: readonly TreeEntry[];
  /** Number of entries not shown. */
  readonly more: number;
  /** Number of entries whose names are not UTF-8 and therefore cannot be shown. */
  readonly unnamed: number;
  /** Reason why the directory could not be read. */
  readonly fault?: string;
}

export interface DirectoryTreeRun {
  readonly boundary: Boundary;
  /** The directory to list. */
  readonly start: Start;
  /** Walk of everything below the directory, including hidden files. */
  readonly walk: WalkedTree;
  /** Depth of the tree; 1 lists only the directory's own entries. */
  readonly depth: number;
  /** Total number of entries. */
  readonly limit: number;
  /** Only entries after this {@link sortKeyOf} value are shown. */
  readonly after: string | undefined;
  /** Aborts the listing with its reason. */
  readonly signal: AbortSignal;
  /** Ends the listing with the entries so far. */
  readonly deadline: AbortSignal;
}

/** Minimum number of entries per directory that is worth showing. */
const minEntriesPerDirectory = 4;

/** Sort key of directory entries. */
export function sortKeyOf({ kind, name }: Pick<TreeEntry, 'kind' | 'name'>): string {
  return `${kind === 'directory' ? 0 : 1}${name}`;
}

/**
 * Lists level by level: directories of a level share the entries left by the levels above, so a
 * large directory does not starve its neighbours.
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
    // File counts say more than a handful of entries from each of many directories.
    const isWorthwhile = at < depth && left >= minEntriesPerDirectory * directories.length;
    for (const [index, entry] of directories.entries()) {
      entry.files = counts.get(entry.path) ?? 0;
      signal.throwIfAborted();
      const share = Math.floor(left / (directories.length - index));
      if (!isWorthwhile || entry.visibility !== 'listed' || deadline.aborted) continue;
      entry.content = await readContent(run, entry.path, share, undefined);
      left -= entry.content.entries.length;
      next.push(...entry.content.entries);
    }
    level = next;
  }
  return content;
}

/** Counts the files below each directory. */
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
  // Resolve again: a link may have replaced the directory since it was found.
  const start = await resolveStart(boundary, directory);
  if (start === undefined) return { entries: [], unnamed: 0 };
  const [entries = []] = await disk.readDirectories([start.real]);
  if (entries instanceof Error) throw entries;
  const named = await decodableEntries(start.real, entries);
  const described = named.map((entry): TreeEntry => {
    const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
    const kind = entry.isDirectory()
      ? 'directory'
      : entry.isSymbolicLink()
        ? 'link'
        : entry.isFile()
          ? 'file'
          : 'special';
    const visibility =
      entry.name === '.git' ? 'closed' : walk.omitted.has('ignored', path) ? 'ignored' : 'listed';
    return { name: entry.name, path, kind, visibility };
  });
  return { entries: described, unnamed: entries.length - named.length };
}

/**
 * Entries with UTF-8 names. Other names decode to text with U+FFFD, which valid names may contain
 * as well.
 */
async function decodableEntries(
  directory: string,
  entries: readonly Dirent[],
): Promise<readonly Dirent[]> {
  const isDoubtful = ({ name }: Dirent): boolean => name.includes('\ufffd');
  if (!entries.some(isDoubtful)) return entries;
  const names = await disk.readNames(directory);
  const left = new Set(names.filter((name) => isUtf8(name)).map((name) => name.toString()));
  // Several names decode to the same text; one of them may be valid.
  return entries.filter((entry) => !isDoubtful(entry) || left.delete(entry.name));
}

/** Adds a file's size or a link's target. */
async function describe({ boundary }: DirectoryTreeRun, entry: TreeEntry): Promise<void> {
  try {
    if (entry.kind === 'file') {
      entry.sizeBytes = (await disk.lstat(join(boundary.base.path, entry.path))).size;
    } else if (entry.kind === 'link') {
      const end = await resolveStart(boundary, entry.path);
      const slash = end?.kind === 'directory' ? '/' : '';
      entry.target = end === undefined ? 'nothing' : `${end.inRoot ?? end.real}${slash}`;
    }
  } catch (error) {
    if (error instanceof ToolError && error.code === 'OUTSIDE_ROOTS') {
      entry.target = 'outside the roots';
    } else if (error instanceof ToolError) entry.target = error.message;
    else if (disk.systemCode(error) === undefined) throw error;
    // A file removed in the meantime has no size.
  }
}
