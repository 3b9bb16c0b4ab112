import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineSplitter } from '../../src/actors/reader/line-splitter.ts';
import type { Line } from '../../src/actors/reader/line-splitter.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const isBlank = (text: string): boolean => /^[ \t\r]*$/.test(text);

/** Short form of a line. */
const inShort = (line: Line): string =>
  typeof line === 'string'
    ? line
    : line.error.message.includes('UTF-8')
      ? '<not UTF-8>'
      : '<too long>';

/** The reference implementation: splits the whole input. */
function reference(input: Uint8Array, maxLineBytes: number): string[] {
  const found: string[] = [];
  for (let start = 0; start <= input.length;) {
    const at = input.indexOf(0x0a, start);
    const end = at === -1 ? input.length : at;
    const line = input.subarray(start, end);
    start = end + 1;
    if (line.length > maxLineBytes) {
      found.push('<too long>');
      continue;
    }
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line);
      const bare = text.startsWith('\ufeff') ? text.slice(1) : text;
      if (!isBlank(bare)) found.push(bare);
    } catch {
      found.push('<not UTF-8>');
    }
  }
  return found;
}

/** Splits at the given indexes. */
function cut(input: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [...new Set(places.map((place) => place % (input.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((start, i) => input.slice(start, at[i] ?? input.length));
}

function split(chunks: readonly Uint8Array[], maxLineBytes = 1000): string[] {
  const splitter = new LineSplitter(maxLineBytes);
  const lines = chunks.flatMap((chunk) => splitter.push(chunk));
  return [...lines, ...splitter.end()].map(inShort);
}

const piece = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }).map(bytes) },
  {
    weight: 3,
    arbitrary: fc.constantFrom('\n', '\r\n', '\n\n', ' ', '\ufeff', '{}', '\u2028').map(bytes),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 4 }) },
);
const input = fc
  .array(piece, { maxLength: 40 })
  .map((pieces) => new Uint8Array(Buffer.concat(pieces)));
const places = fc.array(fc.nat(), { maxLength: 20 });

describe('LineSplitter with any chunking', () => {
  test('gives the same lines as for a single chunk', () => {
    fc.assert(
      fc.property(input, places, fc.integer({ min: 1, max: 60 }), (all, at, max) => {
        expect(split(cut(all, at), max)).toEqual(split([all], max));
      }),
      { numRuns: 2000 },
    );
  });

  test('gives the lines of the reference implementation', () => {
    fc.assert(
      fc.property(input, places, fc.integer({ min: 1, max: 60 }), (all, at, max) => {
        expect(split(cut(all, at), max)).toEqual(reference(all, max));
      }),
      { numRuns: 2000 },
    );
  });

  test('gives the lines of the reference implementation byte by byte', () => {
    fc.assert(
      fc.property(input, fc.integer({ min: 1, max: 60 }), (all, max) => {
        const single = Array.from(all, (byte) => Uint8Array.of(byte));
        expect(split(single, max)).toEqual(reference(all, max));
      }),
      { numRuns: 500 },
    );
  });

  test('ignores empty chunks', () => {
    const nothing = new Uint8Array(0);
    expect(
      split([nothing, bytes('a'), nothing, bytes('b\nc'), nothing, bytes('\n'), nothing]),
    ).toEqual(['ab', 'c']);
  });
});

describe('a line of LineSplitter', () => {
  test.each(['é', '€', '😀', 'a\u0301', '\u2028', '\u2029', '\u0085'])(
    'decodes a character split across chunks: %j',
    (character) => {
      const all = bytes(`"${character}"\n`);
      for (let at = 0; at <= all.length; at++) {
        expect(split([all.slice(0, at), all.slice(at)])).toEqual([`"${character}"`]);
      }
    },
  );

  test.each([
    ['ends with a line feed', 'a\nb\n', ['a', 'b']],
    ['may be the last without one', 'a\nb', ['a', 'b']],
    ['keeps its carriage return, which is white space to JSON', 'a\r\nb\r\n', ['a\r', 'b\r']],
    ['does not end at a carriage return alone', 'a\rb\n', ['a\rb']],
    ['is none if it is blank', '\n\r\n \t\n\n', []],
    ['is given without its byte order mark', '\ufeffa\n\ufeffb\n', ['a', 'b']],
    ['is none if it is only a byte order mark', '\ufeff\n\ufeff\r\n', []],
    ['keeps a byte order mark in its middle', 'a\ufeffb\n', ['a\ufeffb']],
    ['may begin with white space', '  {}\n', ['  {}']],
    [
      'is one if all it holds is white space that JSON does not know',
      ' \u2028\n\v\n',
      [' \u2028', '\v'],
    ],
    [
      'is one if a byte order mark stands in it elsewhere than at its beginning',
      ' \ufeff\n',
      [' \ufeff'],
    ],
    ['loses one byte order mark, not two', '\ufeff\ufeffa\n', ['\ufeffa']],
    ['may hold NUL', '\0\n', ['\0']],
  ])('%s', (_, text, lines) => {
    expect(split([bytes(text)])).toEqual(lines);
  });

  test('is not produced by an empty end of input', () => {
    expect(split([])).toEqual([]);
    const splitter = new LineSplitter(10);
    splitter.push(bytes('a'));
    expect(splitter.end()).toEqual(['a']);
    expect(splitter.end()).toEqual([]);
  });
});

describe('invalid UTF-8', () => {
  const bad: readonly (readonly number[])[] = [
    [0xff],
    [0xc3],
    [0xc0, 0x80],
    [0xed, 0xa0, 0x80],
    [0xf5, 0x80, 0x80, 0x80],
    [0xe2, 0x82],
    [0x80],
  ];
  test.each(bad.map((each) => [each]))(
    'affects only its own line, in every chunking: %j',
    (wrong) => {
      const all = Uint8Array.from([...bytes('"a€"\n"'), ...wrong, ...bytes('"\n"b€"\n')]);
      for (let at = 0; at <= all.length; at++) {
        expect(split([all.slice(0, at), all.slice(at)])).toEqual(['"a€"', '<not UTF-8>', '"b€"']);
      }
      expect(split(Array.from(all, (byte) => Uint8Array.of(byte)))).toEqual([
        '"a€"',
        '<not UTF-8>',
        '"b€"',
      ]);
    },
  );

  test('is a parse error without an id', () => {
    const [line] = new LineSplitter(10).push(Uint8Array.of(0xff, 0x0a));
    expect(line).toEqual({
      kind: 'invalid',
      error: { code: -32700, message: expect.stringContaining('UTF-8') as string },
    });
  });
});

describe('maxLineBytes', () => {
  test('counts bytes, not characters', () => {
    expect(split([bytes('€€€\n')], 9)).toEqual(['€€€']);
    expect(split([bytes('€€€\n')], 8)).toEqual(['<too long>']);
    expect(split([bytes('€€€')], 9)).toEqual(['€€€']);
    expect(split([bytes('€€€')], 8)).toEqual(['<too long>']);
  });

  test('affects only the line that exceeds it, in every chunking', () => {
    const all = bytes(`"a"\n"${'x'.repeat(20)}"\n"b"\n`);
    const places = Array.from({ length: all.length + 1 }, (_, at) => at);
    for (const first of places) {
      for (const second of places) {
        expect(split(cut(all, [first, second]), 10)).toEqual(['"a"', '<too long>', '"b"']);
      }
    }
  });

  test('allows many lines that are longer together', () => {
    expect(split([bytes('12345\n'.repeat(1000))], 5)).toHaveLength(1000);
  });

  test('is reported immediately and once, with the limit', () => {
    const splitter = new LineSplitter(3);
    expect(splitter.push(bytes('1234'))).toEqual([
      {
        kind: 'invalid',
        error: { code: -32600, message: expect.stringContaining('3 bytes') as string },
      },
    ]);
    expect(splitter.push(bytes('5678'))).toEqual([]);
    expect(splitter.push(bytes('9\nok\n'))).toEqual(['ok']);
    expect(splitter.end()).toEqual([]);
  });

  test('applies to the last line too', () => {
    const splitter = new LineSplitter(3);
    splitter.push(bytes('1234'));
    expect(splitter.end()).toEqual([]);
    expect(splitter.push(bytes('5\n'))).toEqual(['5']);
  });
});
