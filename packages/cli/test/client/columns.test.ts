import { expect, test } from 'vitest';
import { columns } from '../../src/client/client-options.ts';

test('a list breaks between words, where its terminal ends', () => {
  const rows = [
    ['one', 'Says what it is given, and nothing else at all'],
    ['another', 'Short'],
  ] as const;
  expect(columns(rows, 33)).toBe(`one      Says what it is given,
         and nothing else at all
another  Short
`);
});

test('what goes to a file or another program has one line for each', () => {
  expect(columns([['one', 'word '.repeat(30)]], undefined)).toMatch(/^one {2}(word ){29}word\n$/);
});
