/**
 * What ripgrep does not tell of the directories that it walks: links to directories, directories
 * without a file, and which of the paths that it has left out are directories.
 */
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { disk, quoted } from 'mcp-actors/internal';

export interface DirectoryScan {
  /** The real path of the root. */
  readonly root: string;
  /** Those that have been walked, relative to the root. Found ones are added. */
  readonly directories: Set<string>;
  /** True for what is not entered and not followed. */
  readonly isLeftOut: (path: string) => boolean;
  readonly onLink: (path: string) => void;
  /** Told of directories that are left out. */
  readonly onLeftOutDirectory: (path: string) => void;
  readonly onProblem: (problem: string) => void;
  /** Ends the scan without an error. */
  readonly isOver: () => boolean;
}

/** The file system gives one volume two threads. */
const readers = 2;
/** How many directories are read in one go: asking for each takes as long as reading it. */
const maxBatch = 32;

/** Reads the directories, and those that it finds in them. */
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
      if (reading instanceof Error) tellFault(scan, directory, reading);
      else unread.push(...scanEntries(scan, directory, reading));
    }
  } catch (error) {
    // The volume does not answer.
    tellFault(scan, batch[0] ?? '', error);
  }
}

/** Gives the directories that nobody knew of. */
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
    // Most directories have been walked.
    if (entry.name === '.git' || scan.directories.has(path)) continue;
    if (scan.isLeftOut(path)) {
      if (isDirectory) scan.onLeftOutDirectory(path);
    } else if (isDirectory) found.push(path);
    else scan.onLink(path);
  }
  for (const path of found) scan.directories.add(path);
  return found;
}

function tellFault(scan: DirectoryScan, directory: string, error: unknown): void {
  if (disk.systemCode(error) === undefined) throw error;
  const { code, phrase } = disk.describeFsError(error);
  // Its name is not UTF-8, so that no text leads to it; ripgrep tells what is in it.
  if (code === 'NOT_FOUND' && directory.includes('\ufffd')) scan.directories.delete(directory);
  // It has gone since.
  if (code === 'NOT_FOUND' || code === 'NOT_A_DIRECTORY') return;
  scan.onProblem(`${quoted(directory === '' ? '.' : directory)} ${phrase}`);
}
