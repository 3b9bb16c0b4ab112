import { describe, expect, test } from 'vitest';
import {
  begunHttpSession,
  nextHttpSession,
} from '../../packages/http/src/legacy/http-session.machine.ts';
import type { HttpSessionEvent } from '../../packages/http/src/legacy/http-session.machine.ts';
import { stateName } from '../../src/machines/names.ts';

type EventName = HttpSessionEvent['type'];

const events = [
  'session.quieted',
  'session.used',
  'session.overdue',
  'session.evicted',
  'session.abandoned',
  'session.ended',
] as const satisfies readonly EventName[];

const follow = (...names: readonly EventName[]) =>
  names.reduce((state, type) => nextHttpSession(state, { type }), begunHttpSession);

const paths = {
  greeting: [],
  greeted: ['session.quieted'],
  active: ['session.used'],
  idle: ['session.used', 'session.quieted'],
  expired: ['session.quieted', 'session.overdue'],
  closed: ['session.ended'],
  abandoned: ['session.abandoned'],
} satisfies Record<string, readonly EventName[]>;
type StateName = keyof typeof paths;

const table: { readonly [state in StateName]: { readonly [event in EventName]?: StateName } } = {
  greeting: {
    'session.used': 'active',
    'session.quieted': 'greeted',
    'session.evicted': 'expired',
    'session.abandoned': 'abandoned',
    'session.ended': 'closed',
  },
  greeted: {
    'session.used': 'active',
    'session.overdue': 'expired',
    'session.evicted': 'expired',
    'session.abandoned': 'abandoned',
    'session.ended': 'closed',
  },
  active: {
    'session.quieted': 'idle',
    'session.evicted': 'expired',
    'session.abandoned': 'abandoned',
    'session.ended': 'closed',
  },
  idle: {
    'session.used': 'active',
    'session.overdue': 'expired',
    'session.evicted': 'expired',
    'session.abandoned': 'abandoned',
    'session.ended': 'closed',
  },
  expired: {},
  closed: {},
  abandoned: {},
};

const cells = (Object.keys(paths) as StateName[]).flatMap((state) =>
  events.map((event) => ({ state, event, next: table[state][event] ?? state })),
);

describe('the http-session machine', () => {
  test.each(cells)('in $state, on $event, goes to $next [HTTP-10]', ({ state, event, next }) => {
    expect(stateName(follow(...paths[state], event))).toBe(next);
  });

  test('says which sessions are not in use, and which never were [HTTP-10]', () => {
    const states = (Object.keys(paths) as StateName[]).map((state) => follow(...paths[state]));
    const seen = states.map((state) => [
      stateName(state),
      state.hasTag('evictable'),
      state.hasTag('unasked'),
      state.status,
    ]);
    expect(seen).toEqual([
      ['greeting', false, true, 'active'],
      ['greeted', true, true, 'active'],
      ['active', false, false, 'active'],
      ['idle', true, false, 'active'],
      ['expired', false, false, 'done'],
      ['closed', false, false, 'done'],
      ['abandoned', false, false, 'done'],
    ]);
  });

  test.each([
    [[], []],
    [['session.greeted'], ['greeted']],
    [['session.greeted', 'session.readied'], ['ready']],
    [['session.readied'], []],
    [['session.served', 'session.greeted'], []],
    [['session.greeted', 'session.served', 'session.readied'], []],
    [['session.greeted', 'session.readied', 'session.listened'], ['ready']],
    [['session.greeted', 'session.listened'], ['greeted']],
    [['session.greeted', 'session.listened', 'session.readied'], ['ready']],
    [['session.listened', 'session.readied'], []],
    [['session.listened', 'session.greeted'], ['greeted']],
    [['session.listened', 'session.greeted', 'session.readied'], ['ready']],
    [['session.listened', 'session.served', 'session.greeted'], []],
    [['session.greeted', 'session.readied', 'session.served'], []],
  ] as const)('after %j its client is %j, whatever its use [HTTP-10]', (names, told) => {
    for (const use of ['greeting', 'greeted', 'active', 'idle'] as const) {
      const state = follow(...paths[use], ...names);
      const tags = (['greeted', 'ready'] as const).filter((tag) => state.hasTag(tag));
      expect([stateName(state), tags]).toEqual([use, told]);
    }
  });

  test('says whether its client, which asks, is served by actors', () => {
    const asking = follow('session.greeted', 'session.readied', 'session.listened');
    expect(asking.value).toMatchObject({ open: { client: 'asking' } });
    const served = nextHttpSession(asking, { type: 'session.served' });
    expect(served.value).toMatchObject({ open: { client: 'served' } });
  });

  test('is the same for all sessions in one state: a session needs no actor of it', () => {
    expect(follow('session.used', 'session.quieted', 'session.used')).toBe(follow('session.used'));
    expect(follow('session.quieted')).toBe(follow('session.quieted'));
  });
});
