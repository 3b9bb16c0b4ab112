import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { build } from 'esbuild';
import { replaceFile } from '../../scripts/replace-file.mjs';
import { programs, programsFolder } from './programs.ts';

const repository = join(import.meta.dirname, '../..');

/** Bundles `dist/` and the programs before the tests, so that those that start real processes run the sources as they are. */
export default async function setup(): Promise<void> {
  execFileSync(process.execPath, [join(repository, 'scripts/build.mjs'), '--bundle-only'], {
    stdio: 'inherit',
  });
  await buildPrograms();
}

/** Each in one file beside the packages that it imports, of which the library, as built, is one. */
async function buildPrograms(): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: repository,
    // And the page that one of them reads from beside it.
    entryPoints: [...programs, 'examples/app/view.html'],
    loader: { '.html': 'copy' },
    outbase: repository,
    outdir: programsFolder,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Not of the sources, where the paths of tsconfig.json would lead.
    tsconfigRaw: {},
    packages: 'external',
    write: false,
    logLevel: 'warning',
  });
  await Promise.all(outputFiles.map(({ path, contents }) => replaceFile(path, contents)));
}
