import { beforeAll, describe, expect, test } from 'vitest';
import { combinationsOf, requirements } from './requirements.ts';
import { citations } from './requirements/collected.ts';
import type { Citation } from './requirements/collected.ts';

describe('the requirements', () => {
  let cited: ReadonlyMap<string, readonly Citation[]>;

  beforeAll(async () => {
    const byId = new Map<string, Citation[]>();
    for (const citation of await citations()) {
      const others = byId.get(citation.id);
      if (others) others.push(citation);
      else byId.set(citation.id, [citation]);
    }
    cited = byId;
  }, 120_000);

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
    expect(unknown.map(([id, by]) => `${id} in ${by[0]?.file}`)).toEqual([]);
  });

  test('are each tested in every revision that they belong to, over every transport', () => {
    const missing = requirements.flatMap((row) => {
      const run = new Set(cited.get(row.id)?.map((by) => `${by.revision} over ${by.transport}`));
      const lacking = combinationsOf(row)
        .map(({ revision, transport }) => `${revision} over ${transport}`)
        .filter((combination) => !run.has(combination));
      return lacking.length > 0 ? [`${row.id}: ${lacking.join(', ')}`] : [];
    });
    expect(missing.join('\n')).toBe('');
  });
});
