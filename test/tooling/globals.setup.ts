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

const first = Symbol.for('mcp-actors.test.globals');
const kept = globalThis as { [first]?: ReadonlyMap<string, unknown> };

/** As they were before the first file of this worker. */
const originals = (kept[first] ??= new Map(names.map((name) => [name, globalThis[name]])));

afterAll(() => {
  const replaced = names.filter((name) => globalThis[name] !== originals.get(name));
  // Given back, so that only this file is blamed.
  for (const name of replaced) Object.assign(globalThis, { [name]: originals.get(name) });
  expect(replaced, 'Globals that this file has replaced, and not given back').toEqual([]);
});
