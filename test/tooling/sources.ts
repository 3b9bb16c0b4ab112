/** The sources of the repository, parsed: what the tests of its shape read. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';
import type { Comment, Program } from 'oxc-parser';

const repository = fileURLToPath(new URL('../../', import.meta.url));

export interface Source {
  /** From the repository's root, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly program: Program;
  readonly comments: readonly Comment[];
}

/** The folders with the code that is published: the runtime's, and each workspace's. */
function sourceFolders(): string[] {
  const packages = join(repository, 'packages');
  const names = existsSync(packages) ? readdirSync(packages) : [];
  return [
    'src',
    ...names
      .map((name) => `packages/${name}/src`)
      .filter((path) => existsSync(join(repository, path))),
  ];
}

/** The folders with tests: the root's, and each workspace's. */
export function testFolders(): string[] {
  const names = readdirSync(join(repository, 'packages')).map((name) => `packages/${name}/test`);
  return ['test', 'lab/test', ...names.filter((path) => existsSync(join(repository, path)))];
}

/** Every TypeScript file of those folders but declarations. */
export function readSources(folders: readonly string[] = sourceFolders()): Source[] {
  return folders.flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /(?<!\.d)\.tsx?$/.test(name))
      .map((name) => {
        const path = `${folder}/${name.replaceAll('\\', '/')}`;
        const text = readFileSync(join(repository, path), 'utf8');
        const { program, comments } = parseSync(path, text);
        return { path, text, program, comments };
      }),
  );
}
