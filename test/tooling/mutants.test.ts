import { expect, test } from 'vitest';
import { mutantsOf } from '../../scripts/mutate/mutants.ts';

const source = `import { tell } from './tell.ts';

export function check(length: number, isOpen = true): boolean {
  if (length > 16) return false;
  tell('checked');
  return !isOpen && length < 8;
}
`;

test('each condition, operator, literal and effect is broken, one at a time', () => {
  expect(mutantsOf('check.ts', source).map(({ line, what }) => `${line}: ${what}`)).toEqual([
    '3: true → false',
    '4: length > 16 → true',
    '4: length > 16 → false',
    '4: > → >=',
    '4: 16 → (16 + 1)',
    '4: false → true',
    "5: tell('checked'); → ;",
    '6: ! → nothing',
    '6: && → ||',
    '6: < → <=',
    '6: 8 → (8 + 1)',
  ]);
});

test('a mutant differs from the module in that place alone', () => {
  const [first] = mutantsOf('check.ts', source);
  expect(first?.text).toBe(source.replace('isOpen = true', 'isOpen = false'));
});
