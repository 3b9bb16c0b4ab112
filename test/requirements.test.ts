import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { requirements } from './requirements.ts';

const here = import.meta.dirname;

/** The files that cite each id. */
async function citations(): Promise<ReadonlyMap<string, readonly string[]>> {
  const cited = new Map<string, string[]>();
  const files = await readdir(here, { recursive: true });
  for (const file of files.filter((name) => /\.(test\.ts|jsonl)$/.test(name))) {
    const text = await readFile(join(here, file), 'utf8');
    for (const [, id = ''] of text.matchAll(/\[([A-Z]{2,}-\d{2})\]/g)) {
      const citing = cited.get(id);
      if (citing) citing.push(file);
      else cited.set(id, [file]);
    }
  }
  return cited;
}

describe('the requirements', () => {
  let cited: ReadonlyMap<string, readonly string[]>;

  beforeAll(async () => {
    cited = await citations();
  });

  test('have ids of their own', () => {
    const ids = requirements.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
  });

  test('are each cited by a test', () => {
    const uncited = requirements.filter(({ id }) => !cited.has(id));
    expect(uncited.map(({ id, text }) => `${id} ${text}`)).toEqual([]);
  });

  test('are all that is cited', () => {
    const known = new Set(requirements.map(({ id }) => id));
    const unknown = [...cited].filter(([id]) => !known.has(id));
    expect(unknown.map(([id, files]) => `${id} in ${files.join(', ')}`)).toEqual([]);
  });
});
