import { describe, expect, test } from 'vitest';
import { suspendableCallChart } from '../../src/machines/suspendable-call.machine.ts';
import type {
  SuspendableCallEvent,
  SuspendableCallTag,
} from '../../src/machines/suspendable-call.machine.ts';

type EventName = SuspendableCallEvent['type'];

const events = [
  'question.asked',
  'questions.answered',
  'questions.failed',
  'questions.sent',
  'answer.refused',
  'retry.received',
  'handler.settled',
  'urls.demanded',
  'urls.sent',
  'urls.failed',
  'call.cancelled',
] as const satisfies readonly EventName[];

const follow = (...names: readonly EventName[]) =>
  names.reduce(
    (state, type) => suspendableCallChart.next(state, { type }),
    suspendableCallChart.initial,
  );

const asked = ['question.asked'] as const;
const suspended = [...asked, 'questions.sent'] as const;

const paths = {
  serving: [],
  gathering: asked,
  'suspended.waiting': suspended,
  'suspended.settled': [...suspended, 'handler.settled'],
  'suspended.demanded': [...suspended, 'urls.demanded'],
  demanding: ['urls.demanded'],
  ended: ['handler.settled'],
  cancelled: ['call.cancelled'],
  refused: [...asked, 'answer.refused'],
  void: ['urls.demanded', 'urls.sent'],
} satisfies Record<string, readonly EventName[]>;
type StateName = keyof typeof paths;
const states = Object.keys(paths) as StateName[];

const table: { readonly [state in StateName]: { readonly [event in EventName]?: StateName } } = {
  serving: {
    'question.asked': 'gathering',
    'handler.settled': 'ended',
    'urls.demanded': 'demanding',
    'call.cancelled': 'cancelled',
  },
  gathering: {
    'questions.answered': 'serving',
    'questions.failed': 'serving',
    'questions.sent': 'suspended.waiting',
    'answer.refused': 'refused',
    'handler.settled': 'ended',
    'urls.demanded': 'demanding',
    'call.cancelled': 'cancelled',
  },
  'suspended.waiting': {
    'retry.received': 'gathering',
    'handler.settled': 'suspended.settled',
    'urls.demanded': 'suspended.demanded',
    'call.cancelled': 'cancelled',
  },
  'suspended.settled': { 'retry.received': 'ended', 'call.cancelled': 'cancelled' },
  'suspended.demanded': { 'retry.received': 'demanding', 'call.cancelled': 'cancelled' },
  demanding: { 'urls.sent': 'void', 'urls.failed': 'ended', 'call.cancelled': 'cancelled' },
  ended: {},
  cancelled: {},
  refused: {},
  void: {},
};

const cells = states.flatMap((state) =>
  events.map((event) => ({ state, event, next: table[state][event] ?? state })),
);

describe('the suspendable-call machine', () => {
  test.each(cells)('in $state, on $event, goes to $next', ({ state, event, next }) => {
    expect(follow(...paths[state], event)).toBe(follow(...paths[next]));
  });

  test('tells whether a request is open, whether the handler may send requests, and what a retry does', () => {
    const withTag = (tag: SuspendableCallTag) =>
      states.filter((state) => follow(...paths[state]).hasTag(tag));
    expect(withTag('open')).toEqual(['serving', 'gathering', 'demanding']);
    expect(withTag('suspended')).toEqual([
      'suspended.waiting',
      'suspended.settled',
      'suspended.demanded',
    ]);
    expect(withTag('asking')).toEqual([
      'serving',
      'gathering',
      'suspended.waiting',
      'suspended.settled',
      'suspended.demanded',
    ]);
    expect(withTag('over')).toEqual(['ended', 'cancelled', 'refused', 'void']);
    expect(withTag('aborted')).toEqual(['cancelled', 'refused']);
    expect(withTag('void')).toEqual(['refused', 'void']);
  });
});
