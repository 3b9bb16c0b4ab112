import { describe, expect, test } from 'vitest';
import { activeHttpSession, nextHttpSession } from '../../src/machines/http-session.machine.ts';
import type { HttpSessionEvent } from '../../src/machines/http-session.machine.ts';

type EventName = HttpSessionEvent['type'];

const events = [
  'session.quieted',
  'session.used',
  'session.overdue',
  'session.evicted',
  'session.ended',
] as const satisfies readonly EventName[];

const follow = (...names: readonly EventName[]) =>
  names.reduce((state, type) => nextHttpSession(state, { type }), activeHttpSession);

const paths = {
  active: [],
  idle: ['session.quieted'],
  expired: ['session.quieted', 'session.overdue'],
  closed: ['session.ended'],
} satisfies Record<string, readonly EventName[]>;
type StateName = keyof typeof paths;

const table: { readonly [state in StateName]: { readonly [event in EventName]?: StateName } } = {
  active: { 'session.quieted': 'idle', 'session.ended': 'closed' },
  idle: {
    'session.used': 'active',
    'session.overdue': 'expired',
    'session.evicted': 'expired',
    'session.ended': 'closed',
  },
  expired: {},
  closed: {},
};

const cells = (Object.keys(paths) as StateName[]).flatMap((state) =>
  events.map((event) => ({ state, event, next: table[state][event] ?? state })),
);

describe('the http-session machine', () => {
  test.each(cells)('in $state, on $event, goes to $next [HTTP-10]', ({ state, event, next }) => {
    expect(follow(...paths[state], event).value).toBe(next);
  });

  test('ends only a session that nobody uses for another one [HTTP-10]', () => {
    const states = (Object.keys(paths) as StateName[]).map((state) => follow(...paths[state]));
    expect(states.map((state) => [state.value, state.hasTag('evictable'), state.status])).toEqual([
      ['active', false, 'active'],
      ['idle', true, 'active'],
      ['expired', false, 'done'],
      ['closed', false, 'done'],
    ]);
  });

  test('is the same for all sessions in one state: a session needs no actor of it', () => {
    expect(follow('session.quieted', 'session.used')).toBe(activeHttpSession);
    expect(follow('session.quieted')).toBe(follow('session.quieted'));
  });
});
