import { expect, test } from 'vitest';
import {
  printable,
  printableJson,
  printableLines,
  printableName,
  printableText,
  quoted,
} from '../../src/protocol/printable.ts';

test.each([
  ['a\u001b[2Jb', 'a\\u001b[2Jb'],
  ['two\nlines\r', 'two\\u000alines\\u000d'],
  ['\u007f\u009b31m', '\\u007f\\u009b31m'],
  ['right\u202eto left\u2066', 'right\\u202eto left\\u2066'],
  ['\u2028\u2029', '\\u2028\\u2029'],
  ['unseen \u{e0041}\u200b\ufeff', 'unseen \\u{e0041}\\u200b\\ufeff'],
  ['half \ud83d', 'half \\ud83d'],
  ['a\ttab, 😀, 👩‍👧, \u0646\u200c\u0627, é', 'a\ttab, 😀, 👩‍👧, \u0646\u200c\u0627, é'],
])('escapes %j as %j', (text, expected) => {
  expect(printable(text)).toBe(expected);
});

test('truncates a line that is too long, and says so', () => {
  expect(printable('abcdef', 4)).toBe('abcd… (2 more characters)');
  expect(printable('abcd', 4)).toBe('abcd');
  expect(printable('x'.repeat(10_000))).toMatch(/^x{8000}… \(2000 more characters\)$/);
});

test('keeps the number of lines', () => {
  expect(printableLines(['a', 'b\nc'])).toBe('a\nb\\u000ac');
});

test('truncates a name before escaping it', () => {
  expect(printableName('a\u001bbc', 3)).toBe('a\\u001bb…');
  expect(printableName('abc', 3)).toBe('abc');
  expect(printableName('x'.repeat(200))).toBe(`${'x'.repeat(120)}…`);
});

test('quotes a text, escaping its quotation marks', () => {
  expect(quoted('a "b"\u202e')).toBe('"a \\"b\\"\\u202e"');
  expect(quoted('abcdef', 4)).toBe('"abcd…"');
});

test('keeps line feeds and tabs of a text, and escapes other control characters', () => {
  expect(printableText('a\r\n\tb\n\rc\u001b[2J\u009b')).toBe('a\n\tb\n\\u000dc\\u001b[2J\\u009b');
});

test('keeps the value of JSON, whatever characters it contains', () => {
  const value = { 'k\u202e': ['\u007f\u009b', '\u{e0041} 😀 \n', '\ud83d', 'é'] };
  for (const space of [undefined, 2]) {
    const json = printableJson(value, space);
    expect(JSON.parse(json)).toEqual(value);
    expect(json).toContain(String.raw`\u007f\u009b`);
    expect(json).toContain(String.raw`\udb40\udc41 😀`);
    expect(json).not.toMatch(/[\u007F-\u009F\u202E]/u);
  }
});
