/** The public names, pinned: one that comes or goes is seen here, on purpose. `npx vitest run test/tooling/exports.test.ts -u` writes them anew. */
import { describe, expect, it } from 'vitest';
import { entries } from './entries.ts';

describe('the public names', () => {
  it.each(entries)(
    'of $specifier are those that its source says',
    async ({ specifier, values }) => {
      const module = (await import(specifier)) as object;
      expect(Object.keys(module).sort()).toEqual(values);
    },
  );

  it('mean the same in each entry that has them, but for a connection to a server under test', async () => {
    const meanings = new Map<string, unknown>();
    const ambiguous: string[] = [];
    for (const { specifier } of entries) {
      for (const [name, value] of Object.entries((await import(specifier)) as object)) {
        if (meanings.has(name) && meanings.get(name) !== value) ambiguous.push(name);
        meanings.set(name, value);
      }
    }
    expect(ambiguous).toEqual(['connect']);
  });

  it('are these', async () => {
    const lines = entries.flatMap(({ specifier, values, types }) => [
      `${specifier}`,
      ...values.map((name) => `  ${name}`),
      ...types.map((name) => `  type ${name}`),
    ]);
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./public-names.txt');
  });
});
