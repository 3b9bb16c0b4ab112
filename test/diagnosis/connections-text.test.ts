import { expect, test } from 'vitest';
import { describeConnections } from '../../src/diagnosis/connections-text.ts';

test('a line for each connection says where it stands, those that are not well first', () => {
  const server = { name: 'lab', version: '1.0.0', revision: '2025-11-25' };
  const text = describeConnections([
    { name: 'lab', state: 'ready', sinceMs: 61_000, attempt: 0, server, pending: 1, launches: 1 },
    { name: 'idle', state: 'idle', attempt: 0, pending: 0, launches: 2 },
    {
      name: 'bad\u001B',
      state: 'backoff',
      sinceMs: 900,
      attempt: 3,
      delayMs: 4000,
      pending: 0,
      launches: 4,
      error: 'It has exited with code 1. Its last words: TOKEN=hunter2',
    },
  ]);
  expect(text).toBe(
    [
      'connection bad\\u001b: backoff for 900 ms; new attempt 3; the next one after 4 s; connected 4 times; It has exited with code 1. Its last words: TOKEN=[redacted]',
      'connection lab: ready for 1 min 1 s; lab 1.0.0, 2025-11-25; 1 request pending',
      'connection idle: idle; connected 2 times',
      '',
    ].join('\n'),
  );
  expect(describeConnections([])).toBe('No connection is open\n');
});
