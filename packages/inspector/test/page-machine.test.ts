import { initialTransition, transition } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { describe, expect, test } from 'vitest';
import { pageMachine } from '../src/page/page.machine.ts';
import type { PageMachineEvent } from '../src/page/page.machine.ts';
import type { PageEvent, PageUpdate, TransitionEvent } from '../src/page-messages.ts';

type Snapshot = SnapshotFrom<typeof pageMachine>;

const update = (missed: number): PageUpdate => ({
  sessions: [],
  omitted: 0,
  endpoints: [],
  missed,
});
const received = (missed: number): PageMachineEvent => ({
  type: 'update.received',
  update: update(missed),
});
const toggle: PageMachineEvent = { type: 'pause.toggle' };
const chosen: PageEvent = {
  kind: 'frame',
  seq: 1,
  at: 0,
  direction: 'in',
  what: 'request',
  frame: '{}',
};

/** Snapshot after a sequence of events, with the updates the page was asked to apply. */
function play(...events: readonly PageMachineEvent[]) {
  let [snapshot]: [Snapshot, unknown] = initialTransition(pageMachine);
  const applied: number[] = [];
  let missed = 0;
  for (const event of events) {
    const [next, actions] = transition(pageMachine, snapshot, event);
    snapshot = next;
    for (const { type, params } of actions) {
      if (type === 'countMissed') missed += 1;
      if (type !== 'apply') continue;
      const { updates } = params as { readonly updates: readonly PageUpdate[] };
      applied.push(...updates.map((each) => each.missed));
    }
  }
  return { snapshot, applied, missed, held: snapshot.context.held.map((each) => each.missed) };
}

describe('pageMachine', () => {
  test.each([
    ['connecting', []],
    ['live', [{ type: 'updates.opened' }]],
    ['lost', [{ type: 'updates.opened' }, { type: 'updates.lost' }]],
    ['live', [{ type: 'updates.lost' }, { type: 'updates.opened' }]],
    ['ended', [{ type: 'updates.opened' }, { type: 'updates.ended' }, { type: 'updates.lost' }]],
  ] as const)('connection is %s after %j, paused or not', (connection, events) => {
    expect(play(...events).snapshot.value).toMatchObject({ connection, view: 'following' });
    expect(play(toggle, ...events).snapshot.value).toMatchObject({ connection, view: 'paused' });
  });

  test('applies updates as they arrive', () => {
    expect(play(received(1), received(2))).toMatchObject({ applied: [1, 2], held: [], missed: 0 });
  });

  test('queues updates while paused and applies them in order on resume', () => {
    const events = [received(1), toggle, received(2), received(3)];
    expect(play(...events)).toMatchObject({ applied: [1], held: [2, 3] });
    expect(play(...events, toggle)).toMatchObject({ applied: [1, 2, 3], held: [], missed: 0 });
    expect(play(...events, toggle, received(4)).applied).toEqual([1, 2, 3, 4]);
  });

  test('queues a bounded number of updates, the latest, and counts the rest', () => {
    const many = Array.from({ length: 700 }, (_, at) => received(at));
    const { held, missed, applied } = play(toggle, ...many, toggle, toggle);
    expect([held, missed]).toEqual([[], 100]);
    expect([applied.length, applied[0], applied.at(-1)]).toEqual([600, 100, 699]);
  });

  test('advances ages only while connected and not paused', () => {
    const moves = ({ snapshot }: ReturnType<typeof play>) =>
      snapshot.hasTag('live') && snapshot.hasTag('moving');
    const open: PageMachineEvent = { type: 'updates.opened' };
    const all = [play(), play(open), play(open, toggle), play(open, { type: 'updates.lost' })];
    expect(all.map(moves)).toEqual([false, true, false, false]);
  });

  const moved = (machine: string, task?: string): TransitionEvent => ({
    kind: 'transition',
    seq: 2,
    at: 0,
    machine,
    ...(task === undefined ? {} : { task }),
    from: 'a',
    to: 'b',
    cause: 'c',
    event: '{}',
  });
  const choose = (
    event: PageEvent | undefined,
    transition?: TransitionEvent,
  ): PageMachineEvent => ({ type: 'event.choose', event, moved: transition });

  test('keeps the selected task when an event without a task is selected', () => {
    const { context } = play(
      { type: 'session.choose', id: 's' },
      { type: 'task.choose', id: 't' },
      choose(chosen, moved('task', 'u')),
      choose(undefined),
    ).snapshot;
    expect(context).toMatchObject({ session: 's', task: 'u', event: undefined });
    expect(play(choose(chosen)).snapshot.context).toMatchObject({ event: chosen, task: undefined });
  });

  test('keeps a selected chart until another is requested', () => {
    const pin: PageMachineEvent = { type: 'chart.choose', name: 'roots' };
    const isPinned = (...events: readonly PageMachineEvent[]) =>
      play(...events).snapshot.hasTag('chartIsPinned');
    expect(isPinned()).toBe(false);
    expect(isPinned(pin)).toBe(true);
    expect(play(pin).snapshot.context.chart).toBe('roots');
    expect(isPinned(pin, choose(chosen))).toBe(true);
    expect(isPinned(pin, choose(chosen, moved('session')))).toBe(false);
    expect(isPinned(pin, { type: 'chart.follow' })).toBe(false);
    const { snapshot } = play({ type: 'task.choose', id: 't' });
    expect(snapshot.hasTag('chartIsPinned')).toBe(true);
    expect(snapshot.context).toMatchObject({ chart: 'task', task: 't' });
  });

  const seen = (urgent: string | undefined, ...open: readonly string[]): PageMachineEvent => ({
    type: 'sessions.seen',
    urgent,
    open,
    calm: open,
  });

  test('switches from a calm session to a waiting one unless a session or event was selected by hand', () => {
    const both = { type: 'sessions.seen', urgent: 'b', open: ['a', 'b'] } as const;
    const waits: PageMachineEvent = { ...both, calm: ['a'] };
    const shown = (...events: readonly PageMachineEvent[]) =>
      play(seen('a', 'a'), ...events).snapshot.context.session;
    expect(shown(waits)).toBe('b');
    expect(shown({ ...both, calm: [] })).toBe('a');
    expect(shown(choose(chosen), waits)).toBe('a');
    expect(shown({ type: 'session.choose', id: 'a' }, waits)).toBe('a');
  });

  test('selects the most urgent session and leaves it only after it ends while another is open', () => {
    const shown = (...events: readonly PageMachineEvent[]) =>
      play(...events).snapshot.context.session;
    expect(shown(seen(undefined))).toBeUndefined();
    expect(shown(seen('a', 'a'))).toBe('a');
    expect(shown(seen('a', 'a'), seen('b', 'a', 'b'))).toBe('a');
    expect(shown(seen('a', 'a', 'b'), seen('b', 'b'))).toBe('b');
    expect(shown(seen('a', 'a'), seen('b'))).toBe('a');
    const chooseA: PageMachineEvent = { type: 'session.choose', id: 'a' };
    expect(shown(seen('b', 'a', 'b'), chooseA, seen('b', 'b'))).toBe('a');
  });

  test('filters rows, hides kinds of rows, and toggles the timeline', () => {
    const toggleIn: PageMachineEvent = { type: 'kind.toggle', kind: 'in' };
    expect(play(toggleIn).snapshot.context.kinds).toEqual(['out', 'transition']);
    expect(play(toggleIn, toggleIn).snapshot.context.kinds).toEqual(['in', 'out', 'transition']);
    expect(play({ type: 'filter.change', text: 'ping' }).snapshot.context.filter).toBe('ping');
    const turn: PageMachineEvent = { type: 'timeline.toggle' };
    expect(play(turn).snapshot.hasTag('asList')).toBe(false);
    expect(play(turn, turn).snapshot.hasTag('asList')).toBe(true);
  });
});
