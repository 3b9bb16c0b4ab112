import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

function trackedFiles(): string[] {
  const listing = execFileSync('git', ['ls-files', '-z', '--cached', '--deduplicate'], {
    cwd: root,
  });
  return listing
    .toString('utf8')
    .split('\0')
    .filter((path) => path !== '');
}

describe('the repository', () => {
  it('resolves every package of the lockfile from the public registry, or leaves it to the user', () => {
    const resolved = [...read('package-lock.json').matchAll(/"resolved": "([^"]*)"/g)].map(
      ([, url]) => url ?? '',
    );
    expect(resolved.filter((url) => !url.startsWith('https://registry.npmjs.org/'))).toEqual([]);
  });

  it('mentions no path of the machine it was written on', () => {
    const places = [root, ...(homedir().length > 6 ? [homedir()] : [])];
    const guilty = trackedFiles().filter((path) =>
      places.some((place) => read(path).includes(place)),
    );
    expect(guilty).toEqual([]);
  });
});
