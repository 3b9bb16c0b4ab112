import { expect, test } from 'vitest';
import { FairCallQueue, ConcurrencyLimit } from '../../src/actors/router/call-queue.ts';
import { Quotas } from '../../src/actors/memory-budget.ts';
import { Call } from '../../src/actors/router/call.ts';
import { clientId } from './ids.ts';

const replies = { add: () => {}, drop: () => {} };

const call = (clientKey: string, id: number): Call =>
  new Call(
    {
      id: clientId(id),
      method: 'm',
      params: undefined,
      size: 10,
      origin: { idScope: 'request', clientKey },
    },
    () => ({}),
    {} as never,
    {} as never,
    replies,
  );

function start(maxRunning: number, maxWaiting: number) {
  const started: Call[] = [];
  const bounds = { maxRunning, maxWaiting, maxWaitingBytes: 1000, maxRunningBytes: 1000 };
  const places = new ConcurrencyLimit(bounds);
  const run = (each: Call) => void started.push(each);
  const queues = new FairCallQueue(bounds, new Quotas(), { run }, places);
  const add = (clientKey: string, id: number) => queues.queueOf(clientKey).add(call(clientKey, id));
  const end = (each: Call | undefined) => {
    const clientKey = each?.origin?.clientKey;
    if (!each || clientKey === undefined) throw new Error('No such call was started');
    queues.queueOf(clientKey).remove(each);
    queues.onCallRemoved(clientKey);
    each.end();
    queues.startWaiting();
  };
  const shown = () => started.map(({ origin, id }) => `${origin?.clientKey}${id}`);
  return { queues, places, started, add, end, shown };
}

test('keeps slots for other clients when one uses all of its own', () => {
  const { add, shown, places } = start(2, 1);
  expect([1, 2, 3, 4].map((id) => add('a', id))).toEqual([true, true, true, false]);
  expect([1, 2].map((id) => add('b', id))).toEqual([true, true]);
  expect(shown()).toEqual(['a1', 'a2', 'b1', 'b2']);
  expect([places.running, places.waiting, places.waitingBytes]).toEqual([4, 1, 10]);
});

test('allows four times the limits of one client in total, and serves the clients round-robin', () => {
  const { add, end, started, shown, places } = start(1, 3);
  for (const clientKey of ['a', 'b', 'c', 'd', 'e', 'f']) add(clientKey, 1);
  expect(shown()).toEqual(['a1', 'b1', 'c1', 'd1']);
  add('e', 2);
  add('f', 2);
  end(started[0]);
  expect(shown().slice(4)).toEqual(['e1']);
  end(started[1]);
  end(started[4]);
  end(started[2]);
  expect(shown().slice(4)).toEqual(['e1', 'f1', 'e2']);
  expect([places.running, places.waiting]).toEqual([3, 1]);
});

test('frees the place of a queued call that leaves, and holds all clients together', () => {
  const { queues, places, add, shown } = start(1, 2);
  places.hold('output');
  expect(['a', 'b'].map((clientKey) => add(clientKey, 1))).toEqual([true, true]);
  expect([shown(), places.holds]).toEqual([[], ['output']]);
  places.release('output');
  queues.startWaiting();
  expect(shown()).toEqual(['a1', 'b1']);
});
