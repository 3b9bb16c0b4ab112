/** Makes the bundle for Claude Desktop and others: `npm run release -- bundle [FILE]`. It starts the published command by npx. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { zipSync } from 'fflate';
import { Edits } from './edits.ts';
import { factsOf } from './facts.ts';
import { shortName } from './packages.ts';
import { bundleFolder } from './shelf.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What lies in the bundle, and where it comes from. */
const contents = {
  'manifest.json': `${bundleFolder}/manifest.json`,
  'server/start.mjs': `${bundleFolder}/server/start.mjs`,
  LICENSE: 'LICENSE',
};

/** All files have one date, so that the same sources make the same bytes. A zip file knows no earlier year. */
const date = new Date(1980, 0, 2);

/** @param file relative to the working directory */
export function writeBundle(file: string): void {
  const files = Object.entries(contents).map(
    ([name, path]) => [name, readFileSync(join(root, path))] as const,
  );
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, zipSync(Object.fromEntries(files), { level: 9, mtime: date }));
}

/** The name of the bundle of this version. */
export const bundleName = (version: string): string => `${shortName}-${version}.mcpb`;

/** @param args the file to write, if not the one in `packed` */
export function step(args: readonly string[]): void {
  const file = args[0] ?? join('packed', bundleName(factsOf(new Edits(root)).version));
  writeBundle(file);
  console.log(file);
}
