/** `npm run release -- lint`: publint over every published package, attw over the types of the library. Both read what is built. */
import { fileURLToPath } from 'node:url';
import { must, run } from './command.ts';
import { publishedFolders } from './packages.ts';

/** @throws {Error} one of them finds something; it has printed what */
export async function step(): Promise<void> {
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  for (const folder of publishedFolders) {
    await must(run, 'npx', ['publint', '--strict', folder], { cwd });
  }
  await must(run, 'npx', ['attw', '--pack', '.', '--profile', 'esm-only'], { cwd });
}
