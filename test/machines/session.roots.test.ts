/** Creation of the roots machine by a session. */
import { initialTransition, transition } from 'xstate';
import { describe, expect, test } from 'vitest';
import { sessionMachine } from '../../src/machines/session.machine.ts';
import type { SessionEvent } from '../../src/machines/session.machine.ts';
import { stateName } from '../../src/machines/names.ts';
import { readInitialize } from '../../src/protocol/initialize.ts';
import { inWords, noKeepalive } from './stand-ins.ts';
import { clientId } from '../actors/ids.ts';

const input = {
  server: { serverInfo: { name: 'server', version: '1' }, capabilities: {} },
  limits: {
    ...noKeepalive,
    drainTimeoutMs: 2000,
    stallTimeoutMs: 300,
    rootsTimeoutMs: 5000,
    rootsRetryMs: 30_000,
    maxOvertakenRoots: 16,
  },
};

const initialize = (capabilities: object): SessionEvent => {
  const clientInfo = { name: 'host', version: '1' };
  const said = { protocolVersion: '2025-06-18', capabilities, clientInfo };
  return {
    type: 'initialize.received',
    request: { id: clientId(1) },
    reading: readInitialize(said as never),
  };
};

const events = {
  initialize: initialize({ roots: {} }),
  initialized: { type: 'initialized.received' },
  'roots changed': { type: 'roots.changed' },
  'roots needed': { type: 'roots.needed' },
  'roots due': { type: 'roots.due' },
  'own stream opened': { type: 'standaloneStream.opened' },
  'own stream closed': { type: 'standaloneStream.closed' },
  'input ended': { type: 'input.ended' },
} satisfies Record<string, SessionEvent>;

type EventName = keyof typeof events;

const after = (...given: readonly SessionEvent[]) =>
  given.reduce(
    (state, event) => transition(sessionMachine, state, event)[0],
    initialTransition(sessionMachine, input)[0],
  );

describe('the roots machine of a client without a stream of its own', () => {
  const alone = ['own stream closed', 'initialize'] as const;

  test.each<[EventName, readonly EventName[], string, boolean, ...string[]]>([
    ['initialize', ['own stream closed'], 'negotiated', false],
    ['initialized', alone, 'initialized', false],
    ['roots changed', [...alone, 'initialized'], 'initialized', false],
    ['roots needed', alone, 'negotiated', true],
    ['initialized', [...alone, 'roots needed'], 'initialized', true, 'roots<roots.defer'],
    ['roots needed', [...alone, 'initialized'], 'initialized', true, 'roots<roots.defer'],
    ['own stream opened', alone, 'negotiated', false],
    ['own stream opened', [...alone, 'initialized'], 'initialized', true, 'roots<roots.ask'],
    ['roots needed', [...alone, 'input ended'], 'draining.settling', true, 'roots<roots.defer'],
  ])('is created when needed: %s after %j', (event, path, state, isMade, ...sent) => {
    const before = after(...path.map((name) => events[name]));
    const [next, actions] = transition(sessionMachine, before, events[event]);
    const toRoots = inWords(actions).filter((action) => action.startsWith('roots<'));
    expect([stateName(next), next.context.roots !== undefined, ...toRoots]).toEqual([
      state,
      isMade,
      ...sent,
    ]);
  });

  const kept = [...alone, 'roots needed', 'initialized'] as const;

  test.each<[EventName, readonly EventName[], ...string[]]>([
    ['roots due', kept, 'roots<roots.defer'],
    ['own stream opened', kept, 'roots<roots.ask'],
    ['own stream closed', kept],
    ['roots due', [...kept, 'own stream opened'], 'roots<roots.ask'],
    ['own stream opened', [...kept, 'own stream opened']],
    ['own stream closed', [...kept, 'own stream opened'], 'roots<roots.defer'],
  ])('is notified when the client accepts requests: %s after %j', (event, path, ...sent) => {
    const before = after(...path.map((name) => events[name]));
    const [, actions] = transition(sessionMachine, before, events[event]);
    expect(inWords(actions)).toEqual(sent);
  });

  test.each(['roots needed', 'own stream opened'] as const)(
    'is not created for a client that declares no roots: %s',
    (event) => {
      const alive = after(events['own stream closed'], initialize({}), events[event]);
      expect(alive.context.roots).toBeUndefined();
    },
  );
});
