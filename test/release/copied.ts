/** The files that a release writes, in a folder of their own. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { Edits } from '../../scripts/release/edits.ts';
import { manifestIn, packageFolders } from '../../scripts/release/packages.ts';
import { bundleManifestFile, registryFile } from '../../scripts/release/shelf.ts';
import { versionPlaces } from '../../scripts/release/version.ts';

export const repository = fileURLToPath(new URL('../../', import.meta.url));

const releasedFiles = [
  ...packageFolders.map(manifestIn),
  ...versionPlaces,
  'package-lock.json',
  'CHANGELOG.md',
  'packages/cli/templates/server/package.json',
  registryFile,
  bundleManifestFile,
];

/** The repository's own has nothing that is unreleased on the day of a release. */
const changelog = `# Changelog

## Unreleased

### Added

- A thing.

### Changed

- Another thing.
`;

export interface Copied {
  readonly folder: string;
  /** Of what is on disk now. */
  edits(): Edits;
  /** Every file, by its path. */
  texts(): { readonly [path: string]: string };
}

/** Copies them, with a changelog that has something to release; the end of the test removes the folder. */
export function copied(): Copied {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const path of releasedFiles) cpSync(join(repository, path), join(folder, path));
  writeFileSync(join(folder, 'CHANGELOG.md'), changelog);
  return {
    folder,
    edits: () => new Edits(folder),
    texts: () =>
      Object.fromEntries(
        releasedFiles.map((path) => [path, readFileSync(join(folder, path), 'utf8')]),
      ),
  };
}
