import { describe, expect, test } from 'vitest';
import type { ConnectionDump } from '../src/connection-dump.ts';
import type { CallDump, PendingDump } from '../src/peer-dump.ts';
import { headlineOf } from '../src/headline.ts';
import { isBlocked } from '../../inspector/src/shown-sessions.ts';

const none = { count: 0, max: 16 };
const dump = (of: Partial<ConnectionDump>): ConnectionDump => ({
  side: 'host',
  id: 'a',
  name: 'lab',
  state: 'ready.stable',
  ageMs: 61_000,
  quietMs: 2000,
  sinceMs: 900,
  attempt: 0,
  launches: 1,
  lists: [],
  actors: [],
  calls: [],
  pending: [],
  queues: { running: none, waiting: none, pending: none, outboundBytes: none, holds: [] },
  ...of,
});
const loss = { kind: 'exited', message: 'It has exited with code 1' };
const listen: PendingDump = {
  id: 1,
  method: 'subscriptions/listen',
  state: 'sent',
  ageMs: 9,
  leftMs: 9,
};

describe('the headline of a connection', () => {
  test.each([
    ['connecting.opening', 'Waiting for lab to be there.'],
    ['connecting.probing', 'Waiting for lab to say which era it is of: server/discover.'],
    ['connecting.greeting', 'Waiting for lab to answer initialize.'],
    ['connecting.authorizing', 'Waiting for a login to lab.'],
    [
      'lost',
      'The connection is lost, and what is left of it is being ended: It has exited with code 1.',
    ],
    [
      'failed',
      'The connection has failed, and is made again only if the host asks: It has exited with code 1.',
    ],
  ])('in %s names the current wait and its age', (state, sentence) => {
    const mood = state === 'failed' ? 'failed' : 'waiting';
    expect(headlineOf(dump({ state, loss }))).toEqual({ mood, sentence, ageMs: 900 });
  });

  test('in backoff names the next attempt, its time and the reason', () => {
    expect(headlineOf(dump({ state: 'backoff', attempt: 2, delayMs: 4000, loss }))).toEqual({
      mood: 'waiting',
      sentence: 'Waiting before attempt 3 to connect: It has exited with code 1.',
      ageMs: 900,
      leftMs: 3100,
      ends: 'tried again',
    });
  });

  test('names the oldest pending request, without subscriptions', () => {
    const call: PendingDump = {
      id: 7,
      method: 'tools/call',
      state: 'sent',
      ageMs: 40,
      leftMs: 60,
    };
    expect(headlineOf(dump({ pending: [listen, call] }))).toEqual({
      ...{ mood: 'waiting', sentence: 'Waiting for lab to answer tools/call.' },
      ...{ ageMs: 40, leftMs: 60 },
    });
    const read = { ...call, id: 8, method: 'resources/read', ageMs: 50, leftMs: 50 };
    expect(headlineOf(dump({ pending: [call, read] })).sentence).toBe(
      'Waiting for lab to answer 2 requests: tools/call, resources/read.',
    );
  });

  test('names a question of the server first', () => {
    const asked: CallDump = {
      id: 1,
      method: 'elicitation/create',
      state: 'running',
      ageMs: 30,
      openQuestions: 0,
    };
    const call: PendingDump = {
      id: 7,
      method: 'tools/call',
      state: 'sent',
      ageMs: 40,
      leftMs: 60,
    };
    expect(headlineOf(dump({ calls: [asked], pending: [call] }))).toEqual({
      mood: 'working',
      sentence: 'lab waits for the host to answer elicitation/create.',
      ageMs: 30,
    });
  });

  test('names an idle or an ended connection', () => {
    expect(headlineOf(dump({ pending: [listen] })).mood).toBe('idle');
    expect(isBlocked(dump({ pending: [listen] }))).toBe(false);
    expect(headlineOf(dump({ state: 'stopping' })).mood).toBe('ended');
    expect(headlineOf(dump({ state: 'ended' })).sentence).toBe('The connection is closed.');
  });
});
