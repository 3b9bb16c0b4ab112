/**
 * Scans directories for entries ripgrep does not report: links to directories, empty directories,
 * and which of the omitted paths are directories.
 */
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { disk, quoted } from 'mcp-actors/internal';

export interface DirectoryScan {
  /** Real path of the root. */
  readonly root: string;
  /** Directories already walked, relative to the root. Newly found ones are added. */
  readonly directories: Set<string>;
  /** True for paths that are neither entered nor followed. */
  readonly isOmitted: (path: string) => boolean;
  readonly onLink: (path: string) => void;
  /** Called with omitted directories. */
  readonly onOmittedDirectory: (path: string) => void;
  readonly onProblem: (problem: string) => void;
  /** True if the scan should stop without an error. */
  readonly isOver: () => boolean;
}

/** The file system layer runs two threads per volume. */
const readers = 2;
/** Directories per request: a round trip costs as much as reading a directory. */
const maxBatch = 32;

/** Scans the directories and those found in them. */
export async function scanDirectories(scan: DirectoryScan): Promise<void> {
  const unread = [...scan.directories];
  const readOn = async (): Promise<void> => {
    while (unread.length > 0 && !scan.isOver()) {
      await scanBatch(scan, unread.splice(-maxBatch), unread);
    }
  };
  await Promise.all(Array.from({ length: readers }, readOn));
}

async function scanBatch(
  scan: DirectoryScan,
  batch: readonly string[],
  unread: string[],
): Promise<void> {
  try {
    const readings = await disk.readDirectories(batch.map((path) => join(scan.root, path)));
    for (const [index, reading] of readings.entries()) {
      const directory = batch[index] ?? '';
      if (reading instanceof Error) reportFault(scan, directory, reading);
      else unread.push(...scanEntries(scan, directory, reading));
    }
  } catch (error) {
    // The volume does not respond.
    reportFault(scan, batch[0] ?? '', error);
  }
}

/** Returns directories not walked yet. */
function scanEntries(
  scan: DirectoryScan,
  directory: string,
  entries: readonly Dirent[],
): readonly string[] {
  const found: string[] = [];
  for (const entry of entries) {
    const isDirectory = entry.isDirectory();
    if (!isDirectory && !entry.isSymbolicLink()) continue;
    const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
    // Most directories have been walked already.
    if (entry.name === '.git' || scan.directories.has(path)) continue;
    if (scan.isOmitted(path)) {
      if (isDirectory) scan.onOmittedDirectory(path);
    } else if (isDirectory) found.push(path);
    else scan.onLink(path);
  }
  for (const path of found) scan.directories.add(path);
  return found;
}

function reportFault(scan: DirectoryScan, directory: string, error: unknown): void {
  if (disk.systemCode(error) === undefined) throw error;
  const { code, phrase } = disk.describeFsError(error);
  // The name is not UTF-8, so no string can address it; ripgrep reports its content.
  if (code === 'NOT_FOUND' && directory.includes('\ufffd')) scan.directories.delete(directory);
  // Removed in the meantime.
  if (code === 'NOT_FOUND' || code === 'NOT_A_DIRECTORY') return;
  scan.onProblem(`${quoted(directory === '' ? '.' : directory)} ${phrase}`);
}
