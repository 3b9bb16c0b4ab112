import { expect, test } from 'vitest';
import type { ConnectionDump } from '../src/connection-dump.ts';
import { describeConnections } from '../src/connections-text.ts';

const none = { count: 0, max: 16 };
const dump = (
  of: Partial<ConnectionDump> & Pick<ConnectionDump, 'name' | 'state'>,
): ConnectionDump => ({
  side: 'host',
  id: 'a',
  ageMs: 61_000,
  quietMs: 2000,
  sinceMs: 900,
  attempt: 0,
  launches: 1,
  lists: [],
  actors: [{ id: 'connection', kind: 'machine', status: 'active', state: of.state }],
  calls: [],
  pending: [],
  queues: { running: none, waiting: none, pending: none, outboundBytes: none, holds: [] },
  ...of,
});

test('lists each connection with its status, unhealthy ones first', () => {
  const error = 'It has exited with code 1. Last stderr output: TOKEN=hunter2';
  const text = describeConnections([
    { name: 'idle', state: 'idle', launches: 2 },
    {
      name: 'bad\u001B',
      state: 'backoff',
      launches: 4,
      error,
      connection: dump({
        name: 'bad\u001B',
        state: 'backoff',
        attempt: 3,
        delayMs: 4000,
        loss: { kind: 'exited', message: error },
        lastWords: 'TOKEN=hunter2',
      }),
    },
  ]);
  expect(text).toBe(
    [
      'connection bad\\u001b: backoff for 900 ms; new attempt 3; the next one after 4 s; connected 4 times; It has exited with code 1. Last stderr output: TOKEN=[redacted]',
      '  actors: connection backoff',
      'connection idle: idle; connected 2 times',
      '',
    ].join('\n'),
  );
  expect(describeConnections([])).toBe('No connection is open\n');
});

test('shows requests in flight, lists and last stderr of a working connection', () => {
  const lab = dump({
    name: 'lab',
    state: 'ready.stable',
    server: {
      ...{ name: 'lab', version: '1.0.0', era: 'legacy', revision: '2025-11-25' },
      capabilities: {},
    },
    pending: [{ id: 7, method: 'tools/call', state: 'sent', ageMs: 42_000, leftMs: 18_000 }],
    calls: [
      { id: 's-1', method: 'elicitation/create', state: 'running', ageMs: 3000, openQuestions: 0 },
    ],
    lists: [{ name: 'tools', state: 'known', entries: 14, known: 'stale' }],
    loss: { kind: 'exited', message: 'It was killed' },
    lastWords: 'listening\nAPI_KEY=hunter2',
  });
  const text = describeConnections([{ name: 'lab', state: 'ready', launches: 1, connection: lab }]);
  expect(text).toBe(
    [
      'connection lab: ready for 900 ms; lab 1.0.0, legacy 2025-11-25; 1 request pending',
      '  last heard 2 s ago',
      '  tools/call 7: not answered for 42 s, given up in 18 s',
      '  the server asks elicitation/create s-1: running for 3 s',
      '  lists: tools stale, 14',
      '  last lost: It was killed',
      '  stderr:',
      '    listening',
      '    API_KEY=[redacted]',
      '  actors: connection ready.stable',
      '',
    ].join('\n'),
  );
});

test('shows the deadline of a connection that is not ready, and ignores subscriptions', () => {
  const sent = { state: 'sent', ageMs: 12_000, leftMs: 18_000 } as const;
  const silent = dump({
    ...{ name: 'silent', state: 'connecting.greeting', isUnheard: true, leftMs: 18_000 },
    pending: [{ id: 1, method: 'initialize', ...sent }],
  });
  const lab = dump({
    ...{ name: 'lab', state: 'ready.stable' },
    pending: [{ id: 5, method: 'subscriptions/listen', ...sent, leftMs: 2 ** 31 }],
  });
  const text = describeConnections([
    { name: 'silent', state: 'connecting', launches: 1, connection: silent },
    { name: 'lab', state: 'ready', launches: 1, connection: lab },
  ]);
  expect(text).toBe(
    [
      'connection silent: connecting for 900 ms; given up in 18 s; 1 request pending',
      '  initialize 1: not answered for 12 s, given up in 18 s',
      '  actors: connection connecting.greeting',
      'connection lab: ready for 900 ms',
      '  subscriptions/listen 5: open for 12 s',
      '  actors: connection ready.stable',
      '',
    ].join('\n'),
  );
});
