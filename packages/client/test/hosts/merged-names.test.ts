import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergeTools, mergedName, splitName } from '../../src/hosts/merged-names.ts';
import type { OwnedTool } from '../../src/hosts/merged-names.ts';

const allowed = /^[A-Za-z0-9_-]{1,64}$/;

const owned = fc.record({
  server: fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }),
  tool: fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }),
});
/** Few names, so that some are told from each other by their place alone. */
const alike = fc.record({
  server: fc.stringMatching(/^[a_]{1,4}$/),
  tool: fc.stringMatching(/^[a_]{1,4}$/),
});

describe('a merged tool name', () => {
  test('is server__tool if model APIs accept it', () => {
    expect(mergedName({ server: 'github', tool: 'search_issues' })).toBe('github__search_issues');
  });

  test.each([
    ['my server', 'do.it'],
    ['a', 'x'.repeat(80)],
    ['a__b', 'c'],
    ['a_', 'b'],
    ['日本', 'ツール'],
  ])('gets a digest for %s and %s', (server, tool) => {
    const name = mergedName({ server, tool });
    expect(name).toMatch(allowed);
    expect(name).toMatch(/_[\da-f]{8}$/);
    expect(mergedName({ server, tool })).toBe(name);
  });

  test('is stable across versions and within the length limit', () => {
    expect(mergedName({ server: 'my server', tool: 'do.it' })).toBe('my_server__do_it_a77e797a');
    expect(mergedName({ server: 'a', tool: 'x'.repeat(80) })).toBe(`a__${'x'.repeat(52)}_fabe2bb0`);
  });

  test('differs for another server with the same letters', () => {
    const names = [
      mergedName({ server: 'a', tool: 'b__c' }),
      mergedName({ server: 'a__b', tool: 'c' }),
      mergedName({ server: 'a_', tool: '_b' }),
    ];
    expect(new Set(names).size).toBe(3);
  });

  test('is split unless it has a digest', () => {
    fc.assert(
      fc.property(fc.oneof(owned, alike), (one) => {
        const name = mergedName(one);
        if (name === `${one.server}__${one.tool}`) expect(splitName(name)).toEqual(one);
      }),
    );
    expect(['a', 'a__', '__a'].map(splitName)).toEqual([undefined, undefined, undefined]);
  });
});

describe('the merged list', () => {
  test('has unique, valid, sorted names in any input order', () => {
    const lists = fc.array(fc.oneof(owned, alike), { maxLength: 40 });
    fc.assert(
      fc.property(lists, fc.infiniteStream(fc.nat()), (tools, dice) => {
        const merged = mergeTools(tools);
        const names = [...merged.keys()];
        for (const name of names) expect(name).toMatch(allowed);
        expect(names).toEqual([...names].sort((a, b) => (a < b ? -1 : 1)));
        const keys = (list: Iterable<OwnedTool>) =>
          new Set([...list].map(({ server, tool }) => JSON.stringify([server, tool])));
        expect(keys(merged.values())).toEqual(keys(tools));
        expect(merged.size).toBe(keys(tools).size);
        const shuffled = tools
          .map((tool) => ({ tool, at: dice.next().value ?? 0 }))
          .sort((a, b) => a.at - b.at)
          .map(({ tool }) => tool);
        expect([...mergeTools(shuffled)]).toEqual([...merged]);
      }),
    );
  });

  test('gives a plain name to its owner, not to a name that looks digested', () => {
    const odd = { server: 'a.b', tool: 'c' };
    const thief = { server: 'a_b', tool: mergedName(odd).slice('a_b__'.length) };
    const merged = mergeTools([odd, thief]);
    expect(merged.get(mergedName(odd))).toEqual(thief);
    expect(merged.get(mergedName(odd, 1))).toEqual(odd);
    expect(merged.size).toBe(2);
    // Of one server, too.
    const own = { server: 'a', tool: 'b.c' };
    const other = { server: 'a', tool: mergedName(own).slice('a__'.length) };
    expect([...mergeTools([own, other]).values()]).toEqual(expect.arrayContaining([own, other]));
  });

  test('keeps the first of duplicate tools', () => {
    const tool = { server: 'a', tool: 'b' };
    expect(
      mergeTools([
        { ...tool, at: 1 },
        { ...tool, at: 2 },
      ]).get('a__b'),
    ).toMatchObject({ at: 1 });
  });
});
