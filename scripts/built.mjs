/**
 * What a build was made of and what it has made, so that the next one need not make it again. `npm test` and most scripts want the built
 * library, and most of the time `npm ci`, or the script before, has just built it.
 */
import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { replaceFile } from './replace-file.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Goes with the packages that it speaks of: `npm ci` removes both. */
const stamp = join(root, 'node_modules', '.cache', 'built');

const packages = (await readdir(join(root, 'packages'))).map((name) => join('packages', name));

/** All that decides what is built. */
const made = [
  'LICENSE',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'src',
  ...['build.mjs', 'built.mjs', 'replace-file.mjs', 'build', 'prune-declarations.mjs'].map((name) =>
    join('scripts', name),
  ),
  // Of the packages as they are installed.
  join('node_modules', '.package-lock.json'),
  ...packages.flatMap((folder) => [join(folder, 'package.json'), join(folder, 'src')]),
];

/** The folders of what is built: the library's, the command's, and those of the packages that are published beside them. */
export const builtFolders = /** @type {const} */ ([
  join(root, 'dist'),
  join(root, 'packages', 'cli', 'dist'),
  join(root, 'packages', 'inspector', 'dist'),
  join(root, 'packages', 'openapi', 'dist'),
]);

/**
 * The files in a folder of what is built, without the declarations, which only a whole build makes, and without what another process is writing.
 * @param {string} folder
 */
export async function bundledFiles(folder) {
  const types = join(folder, 'types') + sep;
  return (await filesIn(folder)).filter(
    (path) => !path.startsWith(types) && !path.endsWith('.tmp'),
  );
}

/**
 * Whether everything is there as the last build has left it, and that build would be the same today.
 * @param {string} sources their hash
 */
export async function isBuilt(sources) {
  const kept = await readFile(stamp, 'utf8').catch(() => undefined);
  return kept !== undefined && kept === (await state(sources));
}

/**
 * Keeps what the build has made for `isBuilt`.
 * @param {string} sources the hash of the sources before the build: while it runs, they may change
 */
export async function keepBuilt(sources) {
  await replaceFile(stamp, Buffer.from(await state(sources)));
}

/** A hash of all that decides what is built. */
export async function sourcesHash() {
  const files = await Promise.all(made.map((path) => filesIn(join(root, path))));
  return hashOf(files.flat(), process.version);
}

/** @param {string} sources */
async function state(sources) {
  const files = await Promise.all(builtFolders.map(bundledFiles));
  return hashOf(files.flat(), sources);
}

/**
 * All files in a folder and below it, in the order of their names; or the path, if it is a file's; or nothing, if there is none.
 * @param {string} path
 * @returns {Promise<string[]>}
 */
async function filesIn(path) {
  try {
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOTDIR') return [path];
    if (code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * @param {readonly string[]} paths
 * @param {string} more
 */
async function hashOf(paths, more) {
  const hash = createHash('sha256').update(more);
  for (const path of paths) {
    // It may have gone since it was listed, and is another state then.
    const contents = await readFile(path).catch(() => 'gone');
    hash.update(`\0${relative(root, path)}\0${contents.length}\0`).update(contents);
  }
  return hash.digest('hex');
}
