import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';

const bench = join(import.meta.dirname, '../../bench');

test('the benchmark installs what its lockfile says, from whichever registry the user has', () => {
  const lock = readFileSync(join(bench, 'package-lock.json'), 'utf8');
  expect(lock).not.toContain('"resolved": "http');
  const { dependencies } = z
    .object({ dependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(bench, 'package.json'), 'utf8')));
  const loose = Object.entries(dependencies).filter(([, range]) => !/^\d+\.\d+\.\d+$/.test(range));
  expect(loose).toEqual([]);
});
