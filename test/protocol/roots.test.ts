import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/protocol/frames.ts';
import { readRootsResult } from '../../src/protocol/roots.ts';

const read = (...roots: readonly unknown[]) => {
  const reading = readRootsResult({ roots });
  if (!reading.ok) throw new Error(reading.fault);
  return reading.roots;
};

describe('readRootsResult', () => {
  test.each([undefined, null, {}, 'file:///a', 3])(
    'rejects a result without a list of roots: %j',
    (roots) => {
      expect(readRootsResult({ roots })).toEqual({
        ok: false,
        fault: expect.stringContaining('result.roots must be an array') as string,
      });
    },
  );

  test('accepts an empty list and unknown members', () => {
    expect(readRootsResult({ roots: [], nextCursor: 'x', _meta: {} })).toEqual({
      ok: true,
      roots: [],
    });
  });
});

describe('an entry of the roots list', () => {
  test('is usable with a file: URI in any case, with or without a name', () => {
    const roots = [{ uri: 'file:///a' }, { uri: 'FILE:///b', name: 'b' }, { uri: 'file://host/c' }];
    expect(read(...roots)).toEqual(roots);
  });

  test('is usable without its name if the name is not a string', () => {
    expect(read({ uri: 'file:///a', name: 7, _meta: {} })).toEqual([{ uri: 'file:///a' }]);
  });

  test.each([null, 1, 'file:///a', [], {}, { uri: 1 }, { uri: null }, { name: 'n' }])(
    'of the wrong shape is malformed, with a reason: %j',
    (entry) => {
      const [root] = read(entry);
      expect(root).toMatchObject({ uri: '', problem: { code: 'MALFORMED' } });
      expect(root?.problem?.message.length).toBeLessThan(200);
    },
  );

  test.each(['', '/a', 'a', 'http://a/', 'files:///a', ' file:///a', 'https://x/?file:///a'])(
    'with another URI is unusable, and keeps its URI and name: %j',
    (uri) => {
      expect(read({ uri, name: 'n' })).toMatchObject([
        { uri, name: 'n', problem: { code: 'NOT_A_FILE_URI' } },
      ]);
    },
  );

  test.each([
    ['file:///a', 'file:///a'],
    ['file:///a', 'file:///a/'],
    ['file:///a//', 'file:///a'],
    ['file:///a b', 'file:///a%20b'],
    ['file:///é', 'FILE:///%C3%A9'],
    ['file:/a', 'file:///a'],
    ['file://localhost/a', 'file:///%61'],
    ['file:///a/./b/../c', 'file:///a/c'],
  ])(
    'that repeats an earlier one is a duplicate, and the first stays usable: %s %s',
    (first, second) => {
      const [one, two] = read({ uri: first }, { uri: second, name: 'again' });
      expect(one?.problem).toBeUndefined();
      expect(two).toMatchObject({ uri: second, name: 'again', problem: { code: 'DUPLICATE' } });
    },
  );

  test.each([
    ['file:///a%2Fb', 'file:///a/b'],
    ['file:///a%23b', 'file:///a%2523b'],
    ['file:///a%3Fb', 'file:///a?b'],
    ['file:///a\\b', 'file:///a/b'],
    ['file:///a\tb', 'file:///ab'],
    ['file://host/a', 'file:///a'],
    ['file:///%FF', 'file:///%FE'],
    ['file:///A', 'file:///a'],
  ])('that names another file is not a duplicate: %j %j', (first, second) => {
    expect(read({ uri: first }, { uri: second }).map(({ problem }) => problem)).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('names the earlier spelling if it is a duplicate', () => {
    const [, again] = read({ uri: 'file:///a b' }, { uri: 'file:///a%20b' });
    expect(again?.problem?.message).toBe('"file:///a%20b" is already in the list as "file:///a b"');
  });

  test('with a very long URI has a short reason', () => {
    const uri = `http://${'x'.repeat(1_000_000)}`;
    expect(read({ uri })[0]?.problem?.message.length).toBeLessThan(200);
  });

  test('that is unusable does not affect or move the others', () => {
    const entry = fc.oneof(
      fc.record({ uri: fc.constantFrom('file:///a', 'file:///b', 'x:', 'file:///c/') }),
      fc.constantFrom<unknown>(null, 1, {}, []),
    );
    fc.assert(
      fc.property(fc.array(entry), (entries) => {
        const roots = read(...entries);
        expect(roots).toHaveLength(entries.length);
        const uris = entries.map((each) => (each as JsonObject | null)?.['uri'] ?? '');
        expect(roots.map(({ uri }) => uri)).toEqual(uris);
        const usable = roots.filter(({ problem }) => !problem).map(({ uri }) => uri);
        expect(new Set(usable).size).toBe(usable.length);
        expect(usable.length).toBe(
          new Set(uris.filter((uri) => (uri as string).startsWith('file:'))).size,
        );
      }),
    );
  });

  test('is read ten thousand times in order', () => {
    const roots = Array.from({ length: 10_000 }, (_, i) => ({ uri: `file:///${i}` }));
    expect(read(...roots)).toEqual(roots);
  });
});
