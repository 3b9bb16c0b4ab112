import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeLine } from '../../src/protocol/codec.ts';

/** The reference implementation: nesting depth of a parsed value. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

const tooDeep = (line: string, maxDepth: number): boolean => {
  const frame = decodeLine(line, maxDepth);
  return frame.kind === 'invalid' && frame.error.message.includes('must nest at most');
};

const nested = (depth: number, inside = ''): string =>
  '['.repeat(depth) + inside + ']'.repeat(depth);

describe('exceedsDepth', () => {
  test.each([1, 2, 3, 16, 256])('allows exactly the given number of levels: %i', (max) => {
    expect(tooDeep(nested(max), max)).toBe(false);
    expect(tooDeep(nested(max + 1), max)).toBe(true);
    expect(tooDeep('{"a":'.repeat(max + 1) + '1' + '}'.repeat(max + 1), max)).toBe(true);
  });

  test('agrees with a recursive count for any value and any spacing', () => {
    const key = fc.string({ unit: fc.constantFrom('[', '{', ']', '}', '"', '\\', 'a', '\u2028') });
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 8, withCrossShrink: true },
        fc.oneof(key, fc.integer(), fc.constant(null)),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(key, tie('value'), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(
        value,
        fc.integer({ min: 0, max: 9 }),
        fc.nat({ max: 2 }),
        (sample, max, indent) => {
          expect(tooDeep(JSON.stringify(sample, undefined, indent), max)).toBe(
            depthOf(sample) > max,
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  test.each([
    ['brackets', '[{'],
    ['a quote before brackets', '\\"[['],
    ['a backslash at the end', '[[\\\\'],
    ['backslashes and quotes', '\\\\\\"[[\\\\'],
    ['an escaped bracket', '\\u005b['],
  ])('ignores brackets in strings: %s', (_, unit) => {
    const line = `{"a":"${unit.repeat(600)}","b":[]}`;
    expect(tooDeep(line, 2)).toBe(false);
    expect(tooDeep(line, 1)).toBe(true);
  });

  test('counts again after a string', () => {
    expect(tooDeep(`["${'x'.repeat(600)}",${nested(256)}]`, 256)).toBe(true);
    expect(tooDeep(`["${'x'.repeat(600)}",${nested(255)}]`, 256)).toBe(false);
  });

  test('does not count levels that have been closed', () => {
    expect(tooDeep(`[${Array.from({ length: 1000 }, () => nested(200)).join()}]`, 201)).toBe(false);
  });

  test('stops before parsing a line that never closes', () => {
    expect(tooDeep('['.repeat(1_000_000), 256)).toBe(true);
    expect(tooDeep('{"a":'.repeat(1_000_000), 256)).toBe(true);
  });

  test('handles unfinished strings and unbalanced brackets', () => {
    expect(decodeLine(`["${'['.repeat(1000)}`, 256)).toMatchObject({ kind: 'invalid' });
    expect(decodeLine(']'.repeat(1000), 256)).toMatchObject({ kind: 'invalid' });
    expect(decodeLine('"\\'.repeat(1000) + '['.repeat(300), 256)).toMatchObject({
      kind: 'invalid',
    });
  });
});
