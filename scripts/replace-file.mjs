import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Writes a file unless it holds this already, and never half: a process that runs from it while it is built anew is not disturbed.
 * @param {string} path
 * @param {Uint8Array} contents
 */
export async function replaceFile(path, contents) {
  const present = await readFile(path).catch((/** @type {NodeJS.ErrnoException} */ error) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (present?.equals(contents)) return;
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}.tmp`;
  await writeFile(draft, contents);
  await rename(draft, path);
}
