import { expect, test } from 'vitest';
import { changesBetween } from '../../src/hosts/config-changes.ts';
import { readHosts } from '../../src/hosts/hosts-file.ts';

const read = (mcpServers: object) => readHosts({ mcpServers }, { environment: {} });
const a = { command: 'a', env: { X: '1', Y: '2' }, tools: { deny: ['x'] } };
const nothing = { added: [], removed: [], changed: [], adjusted: [] };

test.each([
  [
    'the same in another order',
    { tools: { deny: ['x'] }, env: { Y: '2', X: '1' }, command: 'a' },
    {},
  ],
  ['another argument', { ...a, args: ['b'] }, { changed: ['one'] }],
  ['another value of the environment', { ...a, env: { X: '3' } }, { changed: ['one'] }],
  ['another time', { ...a, timeoutMs: 5 }, { changed: ['one'] }],
  ['another era', { ...a, era: 'legacy' }, { changed: ['one'] }],
  ['another restart', { ...a, restart: false }, { changed: ['one'] }],
  ['another policy', { ...a, policies: { deny: ['y'] } }, { changed: ['one'] }],
  ['another filter of tools', { ...a, tools: {} }, { adjusted: ['one'] }],
  ['another idle time', { ...a, idleMs: 1000 }, { adjusted: ['one'] }],
  ['disabled', { ...a, disabled: true }, { changed: ['one'] }],
  ['faulty', { ...a, cwd: 3 }, { changed: ['one'] }],
])('a server that is %s', (_, entry, changes) => {
  expect(changesBetween(read({ one: a }), read({ one: entry }))).toEqual({
    ...nothing,
    ...changes,
  });
});

test('lists added and removed servers', () => {
  const changes = changesBetween(read({ one: a, two: a }), read({ two: a, three: a }));
  expect(changes).toEqual({ ...nothing, added: ['three'], removed: ['one'] });
});
