/** The licences of what is bundled. */
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './plugins.mjs';

/**
 * The packages that a bundled file is of: the one that it lies in, and those that this one's own bundler has put into the file, which marks
 * each with a region.
 * @param {string} path from the root
 */
async function packagesOf(path) {
  const own = path.split('node_modules/').at(-1) ?? '';
  if (own === path) return [];
  const text = await readFile(join(root, path), 'utf8');
  const regions = [...text.matchAll(/^\/\/#region .*node_modules\/(.+)$/gm)].map(
    ([, name]) => name,
  );
  return [own, ...regions].flatMap((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name ?? '')?.[0] ?? []);
}

/**
 * The licences of the packages that the bundles contain, as those licences ask.
 * @param {import('esbuild').Metafile[]} metafiles
 */
export async function notices(metafiles) {
  const bundled = metafiles
    .flatMap((metafile) => Object.values(metafile.outputs))
    .flatMap((output) => Object.entries(output.inputs))
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    // What a plugin has named has its name before it.
    .map(([path]) => path.replace(/^[\w-]+:/, ''));
  const names = new Set((await Promise.all([...new Set(bundled)].map(packagesOf))).flat());
  const sections = [...names].sort().map(async (name) => `${await noticeOf(name)}\n`);
  return `Parts of these packages are included in this distribution.\n\n${(await Promise.all(sections)).join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/**
 * @param {string} name
 * @throws {Error} the package has no text of its licence
 */
async function noticeOf(name) {
  const folder = join(root, 'node_modules', name);
  const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} is bundled and has no text of its licence`);
  return `${name} ${version} (${license})\n\n${(await readFile(join(folder, file), 'utf8')).trim()}`;
}
