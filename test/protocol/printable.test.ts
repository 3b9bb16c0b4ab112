import { expect, test } from 'vitest';
import { printable, printableLines } from '../../src/protocol/printable.ts';

test.each([
  ['a\u001b[2Jb', 'a\\u001b[2Jb'],
  ['two\nlines\r', 'two\\u000alines\\u000d'],
  ['\u007f\u009b31m', '\\u007f\\u009b31m'],
  ['right\u202eto left\u2066', 'right\\u202eto left\\u2066'],
  ['\u2028\u2029', '\\u2028\\u2029'],
  ['unseen \u{e0041}\u200b\ufeff', 'unseen \\u{e0041}\\u200b\\ufeff'],
  ['half \ud83d', 'half \\ud83d'],
  ['a\ttab, 😀, 👩‍👧, \u0646\u200c\u0627, é', 'a\ttab, 😀, 👩‍👧, \u0646\u200c\u0627, é'],
])('%j becomes %j', (text, expected) => {
  expect(printable(text)).toBe(expected);
});

test('a line that is too long is cut, and says so', () => {
  expect(printable('abcdef', 4)).toBe('abcd… (2 more characters)');
  expect(printable('abcd', 4)).toBe('abcd');
  expect(printable('x'.repeat(10_000))).toMatch(/^x{8000}… \(2000 more characters\)$/);
});

test('lines stay as many as they are', () => {
  expect(printableLines(['a', 'b\nc'])).toBe('a\nb\\u000ac');
});
