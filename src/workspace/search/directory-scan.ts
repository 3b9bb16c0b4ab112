/**
 * What ripgrep does not tell of the directories that it walks: links to directories, directories
 * without a file, and which of the paths that it has left out are directories.
 */
import { join } from 'node:path';
import { readdir } from '../disk/disk.ts';
import { fsFault, systemCode } from '../disk/fs-fault.ts';

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

/** Reads the directories, and those that it finds in them. */
export async function scanDirectories(scan: DirectoryScan): Promise<void> {
  // A set's iterator goes on to what is added meanwhile.
  const waiting = scan.directories.values();
  const readOn = async (): Promise<void> => {
    for (const directory of waiting) {
      if (scan.isOver()) return;
      await scanOne(scan, directory);
    }
  };
  await Promise.all(Array.from({ length: readers }, readOn));
}

async function scanOne(scan: DirectoryScan, directory: string): Promise<void> {
  try {
    for (const entry of await readdir(join(scan.root, directory))) {
      const isDirectory = entry.isDirectory();
      if (!isDirectory && !entry.isSymbolicLink()) continue;
      const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
      if (entry.name === '.git') continue;
      if (scan.isLeftOut(path)) {
        if (isDirectory) scan.onLeftOutDirectory(path);
      } else if (isDirectory) scan.directories.add(path);
      else scan.onLink(path);
    }
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    const { code, phrase } = fsFault(error);
    // It has gone since.
    if (code !== 'NOT_FOUND' && code !== 'NOT_A_DIRECTORY')
      scan.onProblem(`${directory} ${phrase}`);
  }
}
