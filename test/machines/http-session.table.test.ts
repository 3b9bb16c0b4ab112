import { describe, expect, test } from 'vitest';
import {
  begunHttpSession,
  nextHttpSession,
} from '../../packages/http/src/legacy/http-session.machine.ts';
import type { HttpSessionEvent } from '../../packages/http/src/legacy/http-session.machine.ts';
import { stateName } from '../../src/machines/names.ts';

type EventName = HttpSessionEvent['type'];

const events = [
  'session.idled',
  'session.used',
  'session.timedOut',
  'session.evicted',
  'session.abandoned',
  'session.ended',
] as const satisfies readonly EventName[];

const follow = (...names: readonly EventName[]) =>
  names.reduce((state, type) => nextHttpSession(state, { type }), begunHttpSession);

const paths = {
  initializing: [],
  unused: ['session.idled'],
  active: ['session.used'],
  idle: ['session.used', 'session.idled'],
  expired: ['session.idled', 'session.timedOut'],
  closed: ['session.ended'],
  abandoned: ['session.abandoned'],
} satisfies Record<string, readonly EventName[]>;
type StateName = keyof typeof paths;

const table: { readonly [state in StateName]: { readonly [event in EventName]?: StateName } } = {
  initializing: {
    'session.used': 'active',
    'session.idled': 'unused',
    'session.evicted': 'expired',
    'session.abandoned': 'abandoned',
    'session.ended': 'closed',
  },
  unused: {
    'session.used': 'active',
    'session.timedOut': 'expired',
    'session.evicted': 'expired',
    'session.abandoned': 'abandoned',
    'session.ended': 'closed',
  },
  active: {
    'session.idled': 'idle',
    'session.evicted': 'expired',
    'session.abandoned': 'abandoned',
    'session.ended': 'closed',
  },
  idle: {
    'session.used': 'active',
    'session.timedOut': 'expired',
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

  test('tells sessions that are not in use from those never used [HTTP-10]', () => {
    const states = (Object.keys(paths) as StateName[]).map((state) => follow(...paths[state]));
    const seen = states.map((state) => [
      stateName(state),
      state.hasTag('evictable'),
      state.hasTag('unused'),
      state.status,
    ]);
    expect(seen).toEqual([
      ['initializing', false, true, 'active'],
      ['unused', true, true, 'active'],
      ['active', false, false, 'active'],
      ['idle', true, false, 'active'],
      ['expired', false, false, 'done'],
      ['closed', false, false, 'done'],
      ['abandoned', false, false, 'done'],
    ]);
  });

  test.each([
    [[], []],
    [['session.initializeAnswered'], ['answered']],
    [['session.initializeAnswered', 'session.initialized'], ['initialized']],
    [['session.initialized'], []],
    [['session.actorsStarted', 'session.initializeAnswered'], []],
    [['session.initializeAnswered', 'session.actorsStarted', 'session.initialized'], []],
    [['session.initializeAnswered', 'session.initialized', 'session.started'], ['initialized']],
    [['session.initializeAnswered', 'session.started'], ['answered']],
    [['session.initializeAnswered', 'session.started', 'session.initialized'], ['initialized']],
    [['session.started', 'session.initialized'], []],
    [['session.started', 'session.initializeAnswered'], ['answered']],
    [['session.started', 'session.initializeAnswered', 'session.initialized'], ['initialized']],
    [['session.started', 'session.actorsStarted', 'session.initializeAnswered'], []],
    [['session.initializeAnswered', 'session.initialized', 'session.actorsStarted'], []],
  ] as const)('after %j its client is %j, whatever its use [HTTP-10]', (names, told) => {
    for (const use of ['initializing', 'unused', 'active', 'idle'] as const) {
      const state = follow(...paths[use], ...names);
      const tags = (['answered', 'initialized'] as const).filter((tag) => state.hasTag(tag));
      expect([stateName(state), tags]).toEqual([use, told]);
    }
  });

  test('tells whether a client that is sending requests is served by actors', () => {
    const actorless = follow(
      'session.initializeAnswered',
      'session.initialized',
      'session.started',
    );
    expect(actorless.value).toMatchObject({ open: { client: 'actorless' } });
    const served = nextHttpSession(actorless, { type: 'session.actorsStarted' });
    expect(served.value).toMatchObject({ open: { client: 'running' } });
  });

  test('shares one snapshot among sessions in the same state, without an actor', () => {
    expect(follow('session.used', 'session.idled', 'session.used')).toBe(follow('session.used'));
    expect(follow('session.idled')).toBe(follow('session.idled'));
  });
});
