/**
 * Fails a test file that leaves a global replaced. The files of a worker share them: whoever waits for
 * a timer of a clock that nobody drives any more waits for ever, and is blamed for it.
 */
import { afterAll, expect } from 'vitest';

const names = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'queueMicrotask',
  'Date',
  'performance',
  'fetch',
  'AbortController',
] as const;

/** Hono's server for Node replaces these, and then nothing that fetch gives is a Response: they are given back without blame. */
const replaceable = ['Request', 'Response'] as const;

const first = Symbol.for('mcp-actors.test.globals');
const kept = globalThis as { [first]?: ReadonlyMap<string, unknown> };

/** As they were before the first file of this worker. */
const originals = (kept[first] ??= new Map(
  [...names, ...replaceable].map((name) => [name, globalThis[name]]),
));

afterAll(() => {
  const replaced = names.filter((name) => globalThis[name] !== originals.get(name));
  // Given back, so that only this file is blamed.
  for (const name of [...replaced, ...replaceable]) {
    const value = originals.get(name);
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
  expect(replaced, 'Globals that this file has replaced, and not given back').toEqual([]);
});
