/** What one model reads of many servers is bounded, for each of them and for all. */
import { expect, test } from 'vitest';
import { joinedInstructions } from '../src/joined-instructions.ts';

test("joins instructions under their servers' names, without empty ones", () => {
  const joined = joinedInstructions([
    ['files', 'Read first.'],
    ['silent', undefined],
    ['blank', '  '],
    ['mail', 'Send last.'],
  ]);
  expect(joined).toBe('# files\n\nRead first.\n\n# mail\n\nSend last.');
  expect(joinedInstructions([['silent', undefined]])).toBeUndefined();
});

test('cuts the instructions of one server after 4,000 characters', () => {
  expect(joinedInstructions([['long', 'x'.repeat(4001)]])).toBe(
    `# long\n\n${'x'.repeat(4000)}… (cut)`,
  );
  expect(joinedInstructions([['fits', 'x'.repeat(4000)]])).not.toContain('cut');
});

test('names servers whose instructions do not fit into 24,000 characters, and keeps shorter ones', () => {
  const long = Array.from({ length: 7 }, (_, at) => [`s${at}`, 'y'.repeat(4000)] as const);
  const joined = joinedInstructions([...long, ['short', 'Small.']]) ?? '';
  expect(joined).toContain('# s4\n');
  expect(joined).not.toContain('# s5\n');
  expect(joined).toContain('# short\n\nSmall.');
  expect(joined.endsWith('(The instructions of s5, s6 are left out.)')).toBe(true);
});
