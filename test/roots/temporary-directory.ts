/** A real directory that is gone when the test is over. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
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

/** Writes files into a directory. */
export async function writeFiles(directory: string, files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const full = join(directory, path);
    await mkdir(path.endsWith('/') ? full : dirname(full), { recursive: true });
    if (!path.endsWith('/')) await writeFile(full, content);
  }
}
