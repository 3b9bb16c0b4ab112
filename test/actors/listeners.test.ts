import type { Fact } from 'mcp-actors';
import { expect, test } from 'vitest';
import { Listeners } from '../../src/actors/listeners.ts';

test('reports a listener that throws, and calls the following ones', () => {
  const facts: Fact[] = [];
  const told: string[] = [];
  const listeners = new Listeners<(text: string) => void>('A listener', (fact) => facts.push(fact));
  const failure = new Error('no');
  listeners.add(() => {
    throw failure;
  });
  const remove = listeners.add((text) => told.push(text));
  listeners.notify((listener) => listener('one'));
  remove();
  listeners.notify((listener) => listener('two'));
  expect(told).toEqual(['one']);
  expect(facts).toHaveLength(2);
  expect(facts[0]).toEqual({
    level: 'error',
    name: 'listener.failed',
    message: 'A listener failed: Error: no',
    details: { error: failure },
  });
});
