import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const lockShape = z.object({
  packages: z.record(
    z.string(),
    z.object({ resolved: z.string().optional(), link: z.boolean().default(false) }),
  ),
});

function trackedFiles(): string[] {
  const listing = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' });
  return listing.split('\0').filter((path) => path !== '' && existsSync(join(root, path)));
}

describe('the repository', () => {
  it('resolves every locked package from the public registry or leaves the registry open', () => {
    const { packages } = lockShape.parse(JSON.parse(read('package-lock.json')));
    const elsewhere = Object.values(packages)
      // A package of this repository is a link to its folder.
      .filter(({ link, resolved = '' }) => !(link && /^(?:packages\/[\w-]+|lab)?$/.test(resolved)))
      .flatMap(({ resolved }) => resolved ?? [])
      .filter((url) => !url.startsWith('https://registry.npmjs.org/'));
    expect(elsewhere).toEqual([]);
  });

  it('isolates test files that mock modules', () => {
    const mocking = trackedFiles().filter(
      (path) => path.endsWith('.test.ts') && /^vi\.(do)?mock\(/im.test(read(path)),
    );
    expect(mocking).not.toEqual([]);
    expect(mocking.filter((path) => !path.endsWith('.apart.test.ts'))).toEqual([]);
  });

  // A folder directly under the root of the disk, such as /src, has a name that may occur by chance.
  it.runIf(root.split('/').filter(Boolean).length > 1)('does not mention its own directory', () => {
    expect(trackedFiles().filter((path) => read(path).includes(root))).toEqual([]);
  });
});
