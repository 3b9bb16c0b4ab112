import { SimulatedClock, createActor, fromPromise } from 'xstate';
import { describe, expect, test } from 'vitest';
import { rootsMachine } from '../../src/machines/roots.machine.ts';
import type { AskInput, AskOutcome, RootsFact } from '../../src/machines/roots.machine.ts';
import type { CorrelationEvent } from '../../src/machines/peer-ports.ts';
import { plainActor } from '../../src/machines/port.ts';
import type { Ref } from '../../src/machines/port.ts';
import type { RootsReport } from '../../src/protocol/roots.ts';
import { listener } from './stand-ins.ts';

/** A running roots machine. `queries` has pending and finished queries, in order. */
function startRoots({ maxOvertaken = 16 } = {}) {
  const queries: {
    end(outcome: AskOutcome): Promise<void>;
    fail(error: unknown): Promise<void>;
  }[] = [];
  let inFlight = 0;
  const ask = fromPromise<AskOutcome, AskInput>(
    () =>
      new Promise((resolve, reject) => {
        expect(++inFlight).toBe(1);
        const ended = async (end: () => void) => {
          inFlight--;
          end();
          for (let i = 0; i < 10; i++) await Promise.resolve();
        };
        queries.push({
          end: (outcome) => ended(() => resolve(outcome)),
          fail: (error) => ended(() => reject(error as Error)),
        });
      }),
  );
  const reported: RootsReport[] = [];
  /** The client has a stream of its own. */
  const session = createActor(
    plainActor<RootsFact, undefined>(() => ({
      receive: (fact) => {
        if (fact.type === 'roots.due') actor.send({ type: 'roots.ask' });
        else reported.push(fact.report);
      },
    })),
    { input: undefined },
  ).start() as unknown as Ref<RootsFact>;
  const clock = new SimulatedClock();
  const actor = createActor(rootsMachine.provide({ actors: { ask } }), {
    clock,
    logger: () => {},
    input: {
      session,
      correlation: listener<CorrelationEvent>().ref,
      timeoutMs: 5000,
      retryMs: 30_000,
      maxOvertaken,
    },
  });
  actor.start();
  actor.send({ type: 'roots.ask' });
  const last = () => {
    const query = queries.at(-1);
    if (!query) throw new Error('nothing was asked');
    return query;
  };
  const invalidate = (times = 1) => {
    for (let i = 0; i < times; i++) actor.send({ type: 'roots.invalidate' });
  };
  const reports = () => reported;
  return { actor, clock, queries, invalidate, reports, last };
}

const answer = (path: string): AskOutcome => ({
  kind: 'answered',
  roots: [{ uri: `file://${path}` }],
});

describe('a client that changes its roots during a query', () => {
  test('a thousand times gets one more query, whose answer is used', async () => {
    const { queries, invalidate, reports, last, actor } = startRoots();
    invalidate(1000);
    expect(queries).toHaveLength(1);
    await last().end(answer('/old'));
    expect(queries).toHaveLength(2);
    expect(reports()).toEqual([]);
    await last().end(answer('/new'));
    expect(queries).toHaveLength(2);
    expect(reports()).toEqual([
      { status: 'known', generation: 1, settled: true, roots: [{ uri: 'file:///new' }] },
    ]);
    expect(actor.getSnapshot().value).toBe('known');
  });

  test('each time does not starve waiting calls: an unsettled list is published now and then', async () => {
    const { invalidate, reports, last, queries } = startRoots({ maxOvertaken: 3 });
    for (let n = 1; n <= 12; n++) {
      invalidate();
      await last().end(answer(`/${n}`));
    }
    expect(queries).toHaveLength(13);
    expect(reports().map(({ roots, settled }) => [roots[0]?.uri, settled])).toEqual([
      ['file:///4', false],
      ['file:///8', false],
      ['file:///12', false],
    ]);
    await last().end(answer('/last'));
    expect(reports().at(-1)).toMatchObject({ settled: true, generation: 4 });
  });

  test('a thousand times between queries gets one query, and one more for later changes', async () => {
    const { invalidate, last, queries } = startRoots();
    await last().end(answer('/a'));
    invalidate(1000);
    expect(queries).toHaveLength(2);
    await last().end(answer('/b'));
    await last().end(answer('/c'));
    expect(queries).toHaveLength(3);
  });

  test('and answers that roots are unsupported gets no more queries', async () => {
    const { invalidate, last, queries, reports, clock } = startRoots();
    invalidate();
    await last().end({ kind: 'unsupported', problem: '-32601' });
    clock.increment(10 * 60_000);
    expect(queries).toHaveLength(1);
    expect(reports()).toMatchObject([{ status: 'unsupported', settled: true }]);
  });
});

describe('a client that does not support the roots it declared', () => {
  test('gets no more queries, whatever it sends and however long it takes', async () => {
    const { invalidate, last, queries, clock, reports } = startRoots();
    await last().end({ kind: 'unsupported', problem: '-32601' });
    invalidate(10);
    clock.increment(24 * 60 * 60_000);
    expect(queries).toHaveLength(1);
    expect(reports()).toHaveLength(1);
  });
});

describe('a failed roots query', () => {
  test('keeps the known roots', async () => {
    const { invalidate, last, reports } = startRoots();
    await last().end(answer('/a'));
    invalidate();
    await last().fail(new Error('timed out'));
    expect(reports().at(-1)).toMatchObject({
      status: 'failed',
      roots: [{ uri: 'file:///a' }],
      problem: 'timed out',
    });
  });

  test('is retried after 30 s, 60 s, 120 s, 240 s, and then every 300 s', async () => {
    const { last, queries, clock } = startRoots();
    for (const [n, delayMs] of [30_000, 60_000, 120_000, 240_000, 300_000, 300_000].entries()) {
      await last().fail(new Error('timed out'));
      clock.increment(delayMs - 1);
      expect(queries).toHaveLength(n + 1);
      clock.increment(1);
      expect(queries).toHaveLength(n + 2);
    }
  });

  test('that is outdated is reported, and repeated immediately once', async () => {
    const { last, queries, clock, invalidate, reports } = startRoots();
    invalidate(10);
    await last().fail(new Error('timed out'));
    expect(queries).toHaveLength(2);
    expect(reports()).toMatchObject([{ status: 'failed', settled: false, problem: 'timed out' }]);
    await last().end(answer('/a'));
    clock.increment(60 * 60_000);
    expect(queries).toHaveLength(2);
    expect(reports().at(-1)).toMatchObject({ status: 'known', settled: true, generation: 2 });
  });

  test('is repeated immediately once when the list changes', async () => {
    const { last, queries, clock, invalidate } = startRoots();
    await last().fail(new Error('timed out'));
    clock.increment(100);
    invalidate();
    expect(queries).toHaveLength(2);
    await last().end(answer('/a'));
    clock.increment(60 * 60_000);
    expect(queries).toHaveLength(2);
  });

  test.each([new Error('bug'), 'bug', undefined])(
    'may be caused by a bug of the query actor: %s',
    async (thrown) => {
      const { last, reports, actor } = startRoots();
      await last().fail(thrown);
      expect(actor.getSnapshot().value).toBe('retrying');
      expect(reports()).toMatchObject([
        { status: 'failed', problem: expect.any(String) as string },
      ]);
    },
  );

  test('may have an error without text, which the machine survives', async () => {
    const { last, reports, actor } = startRoots();
    actor.subscribe({ error: () => {} });
    await last().fail(Object.create(null));
    expect(actor.getSnapshot().status).toBe('active');
    expect(reports()).toMatchObject([{ status: 'failed' }]);
  });
});

test('is reported if there is no query actor', async () => {
  const session = listener<RootsFact>();
  const clock = new SimulatedClock();
  const actor = createActor(rootsMachine, {
    clock,
    logger: () => {},
    input: {
      session: session.ref,
      correlation: listener<CorrelationEvent>().ref,
      timeoutMs: 1,
      retryMs: 1,
      maxOvertaken: 1,
    },
  });
  actor.start();
  actor.send({ type: 'roots.ask' });
  for (let i = 0; i < 10; i++) await Promise.resolve();
  expect(session.events).toMatchObject([{ report: { status: 'failed' } }]);
  expect(session.events[0]).toMatchObject({
    report: { problem: expect.stringContaining('"ask"') },
  });
  actor.stop();
});
