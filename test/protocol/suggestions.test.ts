import { expect, test } from 'vitest';
import { closestMatch } from '../../src/protocol/suggestions.ts';

const known = ['check', 'doctor', 'diagram', 'replay', '--record', '--record-limit'];

test.each([
  ['dctor', 'doctor'],
  ['chekc', 'check'],
  ['chek', 'check'],
  ['diag', 'diagram'],
  ['diagrams', 'diagram'],
  ['record', '--record'],
  ['--recrod', '--record'],
  ['src', undefined],
  ['do', undefined],
  ['docs', undefined],
])('%s: %s', (written, name) => {
  expect(closestMatch(written, known)).toBe(name);
});
