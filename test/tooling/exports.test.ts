/** The public names, pinned: one that comes or goes is seen here, on purpose. `npx vitest run test/tooling/exports.test.ts -u` writes them anew. */
import { describe, expect, it } from 'vitest';
import { publicDeclarations } from './declarations.ts';
import { entries } from './entries.ts';

describe('the public names', () => {
  it.each(entries)(
    'of $specifier are those that its source says',
    async ({ specifier, values }) => {
      const module = (await import(specifier)) as object;
      expect(Object.keys(module).sort()).toEqual(values);
    },
  );

  it('mean one thing each, in whichever entry', () => {
    const meanings = new Map<string, Set<string>>();
    for (const { name, meaning } of publicDeclarations()) {
      meanings.set(name, (meanings.get(name) ?? new Set()).add(meaning));
    }
    const ambiguous = [...meanings].filter(([, { size }]) => size > 1);
    expect(ambiguous.map(([name, places]) => [name, ...places])).toEqual([]);
  });

  it('and their members have a docstring each', () => {
    expect([...new Set(publicDeclarations().flatMap((each) => each.undocumented))]).toEqual([]);
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
