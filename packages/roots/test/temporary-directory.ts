/** A real directory that is gone when the test is over. */
import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

export type Files = { readonly [path: string]: string | Buffer };

/** Makes a directory with these files in it and gives its real path. A path that ends with `/` is an empty directory. */
export async function temporaryDirectory(files: Files = {}): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'mcp-actors-')));
  onTestFinished(async () => await rm(directory, { recursive: true, force: true }));
  await writeFiles(directory, files);
  return directory;
}

/** Writes files into a directory. At once: for thousands of files, a turn for each takes several times as long as they do. */
export async function writeFiles(directory: string, files: Files): Promise<void> {
  const made = new Set<string>();
  for (const [path, content] of Object.entries(files)) {
    const full = join(directory, path);
    const parent = path.endsWith('/') ? full : dirname(full);
    if (!made.has(parent)) mkdirSync(parent, { recursive: true });
    made.add(parent);
    if (!path.endsWith('/')) writeFileSync(full, content);
  }
  await Promise.resolve();
}

/** Writes many files of one content, as links to a few: a new file costs a disk far more than a link does. */
export async function writeAlike(
  directory: string,
  names: readonly string[],
  content: string,
): Promise<void> {
  let first = '';
  for (const [index, name] of names.entries()) {
    const full = join(directory, name);
    mkdirSync(dirname(full), { recursive: true });
    // Windows allows a file so many names.
    if (index % 1000 === 0) writeFileSync((first = full), content);
    else linkSync(first, full);
  }
  await Promise.resolve();
}
