/** Every event in every state of a stream: target, delay, and when it gives up. */
import { SimulatedClock, createActor, initialTransition, transition } from 'xstate';
import { describe, expect, test } from 'vitest';
import {
  httpStreamMachine,
  streamResumption,
} from '../../packages/client/src/http/http-stream.machine.ts';
import type { HttpStreamEvent } from '../../packages/client/src/http/http-stream.machine.ts';

const opened: HttpStreamEvent = { type: 'stream.opened' };
const finished: HttpStreamEvent = { type: 'stream.finished' };
const outslept: HttpStreamEvent = { type: 'stream.outslept' };
const refused: HttpStreamEvent = { type: 'stream.refused' };
const cut = (more: object = {}): HttpStreamEvent => ({
  type: 'stream.cut',
  heard: false,
  isResumable: true,
  ...more,
});
const lost = cut({ isResumable: false });

const port = { resume: () => {}, gaveUp: () => {}, abandon: () => {}, scatterMs: () => 700 };

type Row = [from: string, event: HttpStreamEvent, to: string, actions?: string];

const paths: { readonly [state: string]: readonly HttpStreamEvent[] } = {
  open: [],
  waiting: [cut()],
  scattered: [outslept],
  ended: [finished],
  givenUp: [lost],
};

describe('the http-stream machine', () => {
  const rows: Row[] = [
    ['open', cut(), 'waiting'],
    ['open', lost, 'givenUp', 'giveUp'],
    ['open', refused, 'givenUp', 'giveUp'],
    ['open', finished, 'ended'],
    ['open', opened, 'open'],
    ['open', outslept, 'scattered', 'abandon'],
    ['waiting', outslept, 'waiting'],
    ['scattered', outslept, 'scattered'],
    ['scattered', cut(), 'scattered'],
    ['scattered', finished, 'ended'],
    ['waiting', cut(), 'waiting'],
    ['waiting', lost, 'waiting'],
    ['waiting', refused, 'waiting'],
    ['waiting', opened, 'waiting'],
    ['waiting', finished, 'ended'],
    ['ended', cut(), 'ended'],
    ['ended', refused, 'ended'],
    ['givenUp', opened, 'givenUp'],
  ];
  test.each<Row>(rows)('from %s, %j leads to %s', (from, event, to, action = '') => {
    const input = { port, times: streamResumption, begins: 'open' } as const;
    let [snapshot] = initialTransition(httpStreamMachine, input);
    for (const step of paths[from] ?? [])
      [snapshot] = transition(httpStreamMachine, snapshot, step);
    expect(snapshot.value).toBe(from);
    const [next, actions] = transition(httpStreamMachine, snapshot, event);
    const own = actions.map(({ type }) => type).filter((type) => !type.startsWith('xstate.'));
    expect([next.value, own.join()]).toEqual([to, action]);
  });

  test('opens a pending stream at once', () => {
    const { actor, resumptions } = started('resuming');
    expect([actor.getSnapshot().value, resumptions]).toEqual(['resuming', [0]]);
  });

  const whileResuming: Row[] = [
    ['resuming', opened, 'open'],
    ['resuming', cut(), 'waiting'],
    ['resuming', lost, 'givenUp'],
    ['resuming', refused, 'givenUp'],
    ['resuming', finished, 'ended'],
  ];
  test.each<Row>(whileResuming)('while it is %s, %j leads to %s', (_, event, to) => {
    const { actor } = started('resuming');
    actor.send(event);
    expect(actor.getSnapshot().value).toBe(to);
  });

  test('retries five times without an event, with increasing delays, then gives up', () => {
    const { actor, clock, resumptions, gaveUp } = started();
    actor.send(cut());
    for (let attempt = 1; attempt <= 5; attempt++) {
      clock.increment(30_000);
      expect(actor.getSnapshot().value).toBe('resuming');
      // Attempts without an event count, whether opened or not.
      if (attempt % 2 === 0) actor.send(opened);
      actor.send(cut());
    }
    expect(actor.getSnapshot().value).toBe('givenUp');
    expect(gaveUp).toHaveLength(1);
    expect(resumptions).toHaveLength(5);
  });

  test.each([
    ['1 s at first', {}, 1000],
    ['as long as the server says', { retryMs: 500 }, 500],
    ['no longer than 60 s', { retryMs: 10 ** 12 }, 60_000],
    ['a moment, if the server says none', { retryMs: 0 }, 50],
  ])('waits %s', (_, more, waitMs) => {
    const { actor, clock } = started();
    actor.send(cut(more));
    clock.increment(waitMs - 1);
    expect(actor.getSnapshot().value).toBe('waiting');
    clock.increment(1);
    expect(actor.getSnapshot().value).toBe('resuming');
  });

  test('reopens once after the computer has slept, with a random delay', () => {
    const { actor, clock, resumptions } = started();
    for (let nth = 0; nth < 3; nth++) actor.send(outslept);
    clock.increment(699);
    expect(resumptions).toEqual([]);
    clock.increment(1);
    expect(resumptions).toEqual([700]);
    actor.send(opened);
    expect(actor.getSnapshot().value).toBe('open');
  });

  test('increases the delay by half after each attempt, up to 30 s, whatever the server said', () => {
    const { actor, clock } = started('open', { maxAttempts: 12 });
    const waits: number[] = [];
    for (let retryMs: number | undefined = 500; waits.length < 12; retryMs = undefined) {
      actor.send(cut({ retryMs }));
      const since = clock.now();
      while (actor.getSnapshot().value !== 'resuming') clock.increment(1);
      waits.push(clock.now() - since);
    }
    expect(waits).toEqual([
      500, 1500, 2250, 3375, 5063, 7594, 11_391, 17_086, 25_629, 30_000, 30_000, 30_000,
    ]);
  });

  test.each([
    ['an event has come', cut({ heard: true })],
    ['it has held for a while', cut()],
  ])('restarts the count once %s', (what, event) => {
    const { actor, clock, resumptions } = started();
    actor.send(cut());
    for (let round = 0; round < 20; round++) {
      clock.increment(1000);
      expect(actor.getSnapshot().value).toBe('resuming');
      actor.send(opened);
      if (what.startsWith('it')) clock.increment(streamResumption.stableMs);
      actor.send(event);
    }
    expect(resumptions).toHaveLength(20);
  });
});

function started(begins: 'open' | 'resuming' = 'open', times: object = {}) {
  const clock = new SimulatedClock();
  const resumptions: number[] = [];
  const gaveUp: number[] = [];
  const actor = createActor(httpStreamMachine, {
    clock,
    input: {
      port: {
        resume: () => resumptions.push(clock.now()),
        gaveUp: () => gaveUp.push(clock.now()),
        abandon: () => {},
        scatterMs: () => 700,
      },
      times: { ...streamResumption, ...times },
      begins,
    },
  });
  actor.start();
  return { actor, clock, resumptions, gaveUp };
}
