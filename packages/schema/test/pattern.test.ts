import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OutOfSteps, Pattern, Steps } from '../src/pattern.ts';

const plenty = () => new Steps(10_000_000);

/** What JavaScript's own engine and ours say. */
const both = (source: string, text: string) => [
  new RegExp(source, 'u').test(text),
  new Pattern(source).test(text, plenty()),
];

describe('a pattern', () => {
  test.each([
    ['^(a+)+$', ['aaa', '', 'aab']],
    ['a{2,3}b|c', ['ab', 'aab', 'c']],
    ['^a{3}$', ['aa', 'aaa', 'aaaa']],
    ['^a{2,}$', ['a', 'aaaaa']],
    ['^(?:a|b)*?c$', ['abc', 'abd']],
    ['', ['', 'a']],
    ['^$', ['', 'a']],
    ['a|', ['b']],
    ['^.$', ['\n', 'x', '\u2028', '😀']],
    ['^[^]$', ['\n', '']],
    ['^[]$', ['', 'x']],
    [String.raw`^[\]\\^-]$`, [']', '\\', '^', '-', 'a']],
    [String.raw`^\u{1F600}\ud83d\ude00\x41\cA\0\t\/$`, ['😀😀A\u0001\0\t/']],
    [String.raw`^\p{Lu}\P{Lu}\d\D\s\S\w\W$`, ['Éé1a\u00a0xx ', 'ée1a xx ']],
    [String.raw`\bfoo\b`, ['a foo b', 'afoo', 'foo']],
    [String.raw`\Boo\B`, ['foot', 'oo']],
    [String.raw`^(?=.*\d)(?=.*[a-z]).{4,8}$`, ['abc1', 'abcd', 'a1', '12345678a']],
    ['^(?!.*--)a', ['a-', 'a--']],
    ['(?<=a)b', ['ab', 'cb']],
    ['(?<!a)b', ['ab', 'cb', 'b']],
    ['x(?=y(?!z))', ['xy', 'xyz']],
    ['(?<=(?<!c)ab)d', ['abd', 'cabd']],
    ['^(?<year>[0-9]{4})-(?<month>[0-9]{2})$', ['2025-11', '2025-1']],
    [
      String.raw`^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$`,
      ['a@b.de', 'a..b@c.de', '.a@b.de', 'x.y+z@a-b.c.org', 'a@b'],
    ],
  ])('agrees with JavaScript: %s', (source, texts) => {
    for (const text of texts) {
      const [theirs, ours] = both(source, text);
      expect(ours, JSON.stringify(text)).toBe(theirs);
    }
  });

  const { source } = fc.letrec<{ source: string; term: string }>((tie) => ({
    source: fc
      .array(fc.array(tie('term'), { maxLength: 3 }), { minLength: 1, maxLength: 2 })
      .map((parts) => parts.map((part) => part.join('')).join('|')),
    term: fc.oneof(
      { withCrossShrink: true, maxDepth: 4 },
      fc
        .tuple(
          fc.constantFrom('a', 'b', '.', '[^a]', '[ab]', String.raw`\w`, String.raw`\u{e9}`),
          fc.constantFrom('', '', '*', '+?', '?', '{2}', '{1,3}', '{2,}'),
        )
        .map((parts) => parts.join('')),
      fc.constantFrom('^', '$', String.raw`\b`, String.raw`\B`),
      fc
        .tuple(tie('source'), fc.constantFrom('', '*', '+', '?', '{0,2}', '{2}'))
        .map(([within, repeats]) => `(${within})${repeats}`),
      fc
        .tuple(fc.constantFrom('(?=', '(?!', '(?<=', '(?<!'), tie('source'))
        .map(([look, within]) => `${look}${within})`),
    ),
  }));
  // Of one code unit each: V8 lets what has no width match within a surrogate pair.
  const text = fc
    .array(fc.constantFrom('a', 'b', ' ', '\n', 'é'), { maxLength: 7 })
    .map((characters) => characters.join(''));

  test('agrees with JavaScript on random patterns', () => {
    fc.assert(
      fc.property(source, text, (expression, given) => {
        const [theirs, ours] = both(expression, given);
        expect(ours).toBe(theirs);
      }),
      { numRuns: 3000 },
    );
  });

  test('takes steps proportional to the text', () => {
    const repeated = fc.constantFrom('a', 'ab', 'aab', '😀');
    const end = fc.constantFrom('', '!', 'b');
    // What `$` and `{2}` leave of a text depends on its length: both lengths can be divided by all numbers up to eight.
    const count = 840;
    fc.assert(
      fc.property(source, repeated, end, (expression, part, last) => {
        const pattern = new Pattern(expression);
        const stepsFor = (parts: number): number => {
          const steps = plenty();
          const before = steps.left;
          pattern.test(part.repeat(parts) + last, steps);
          return before - steps.left;
        };
        const atMost = 2.1 * stepsFor(count) + 200 * expression.length;
        expect(stepsFor(2 * count)).toBeLessThanOrEqual(atMost);
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    ['^(a+)+$'],
    [`^${'a{0,40}'.repeat(12)}$`],
    ['(a*)*b'],
    ['(?=(a|a)*b)c'],
    ['^(([a-z])+.)+[A-Z]([a-z])+$'],
    ['a*a*a*a*a*a*b'],
  ])('answers for a pattern that backtracks forever: %s', (expression) => {
    const given = `${'a'.repeat(5000)}!`;
    expect(new Pattern(expression).test(given, plenty())).toBe(false);
  });

  test('throws if the step limit is exceeded', () => {
    const pattern = new Pattern('(a|b)*c');
    expect(() => pattern.test('ab'.repeat(1000), new Steps(5000))).toThrow(OutOfSteps);
    expect(() => new Pattern('^a$').test('a'.repeat(1000), new Steps(200))).toThrow(OutOfSteps);
    expect(() => new Pattern('a'.repeat(100), new Steps(1000))).toThrow(OutOfSteps);
  });

  test.each([
    ['[', SyntaxError, /Unterminated/],
    [String.raw`\-`, SyntaxError, /Invalid escape/],
    [String.raw`(a)\1`, TypeError, /backreferences/],
    [String.raw`(?<n>a)\k<n>`, TypeError, /backreferences/],
    ['a{0,30000}', TypeError, /at most 20000 states/],
    ['((a{1000}){1000}){1000}', TypeError, /at most 20000 states/],
    ['(?:){1000000000}', TypeError, /at most 20000 states/],
    ['a'.repeat(5000), TypeError, /at most 4096 characters, got 5000/],
  ])('rejects a pattern without a bound: %.30s', (expression, kind, why) => {
    expect(() => new Pattern(expression)).toThrow(kind);
    expect(() => new Pattern(expression)).toThrow(why);
  });
});
