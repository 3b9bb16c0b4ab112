import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';

const repository = join(import.meta.dirname, '../..');

test.each(['lab/bench', 'lab/hosts'])('%s works with any registry', (folder) => {
  const read = (name: string) => readFileSync(join(repository, folder, name), 'utf8');
  expect(read('package-lock.json')).not.toContain('"resolved": "http');
  const { dependencies } = z
    .object({ dependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(read('package.json')));
  const loose = Object.entries(dependencies).filter(([, range]) => !/^\d+\.\d+\.\d+$/.test(range));
  expect(loose).toEqual([]);
});
