import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contains } from '../src/boundary.ts';

const posix = { windows: false };

test.each([
  ['/a/b', '/a/b', true],
  ['/a/b', '/a/b/c', true],
  ['/a/b/', '/a/b/c', true],
  ['/', '/a', true],
  ['/', '/', true],
  ['/a/b', '/a/bc', false],
  ['/a/b', '/a', false],
  ['/a/b', '/', false],
  ['/a/b', '/a/b/../c', false],
  ['/a/b', '/A/B', false],
  ['/a/b', 'a/b', false],
  ['', '/a', false],
])('%j contains %j: %j', (directory, path, expected) => {
  expect(contains(directory, path, posix)).toBe(expected);
});

describe('on Windows', () => {
  test.each([
    ['C:\\a', 'c:\\A\\b', true],
    ['C:\\', 'C:\\a', true],
    ['C:\\a', 'D:\\a', false],
    ['\\\\server\\share', '\\\\server\\share\\x', true],
    ['\\\\server\\share', '\\\\server\\shared', false],
  ])('%j contains %j: %j', (directory, path, expected) => {
    expect(contains(directory, path, { windows: true })).toBe(expected);
  });
});

const name = fc
  .string({ unit: fc.constantFrom(...Array.from('ab.\\ é%')), minLength: 1, maxLength: 4 })
  .filter((text) => text !== '.' && text !== '..');
const names = fc.array(name, { maxLength: 5 });
const pathOf = (parts: readonly string[]) => `/${parts.join('/')}`;

test('contains its descendants but not its parent', () => {
  fc.assert(
    fc.property(names, fc.array(name, { minLength: 1, maxLength: 5 }), (above, below) => {
      const directory = pathOf(above);
      const path = pathOf([...above, ...below]);
      expect(contains(directory, path, posix)).toBe(true);
      expect(contains(path, directory, posix)).toBe(false);
    }),
  );
});

test('excludes a path that only shares a name prefix [BOUND-01]', () => {
  fc.assert(
    fc.property(names, name, name, (above, own, rest) => {
      const directory = pathOf([...above, own]);
      expect(contains(directory, `${directory}${rest}`, posix)).toBe(false);
    }),
  );
});

test('agrees with a comparison of path segments', () => {
  fc.assert(
    fc.property(names, names, (left, right) => {
      const expected = left.every((part, index) => part === right[index]);
      expect(contains(pathOf(left), pathOf(right), posix)).toBe(expected);
    }),
  );
});
