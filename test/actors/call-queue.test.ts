import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CallQueue, ConcurrencyLimit } from '../../src/actors/router/call-queue.ts';
import { Quotas } from '../../src/actors/memory-budget.ts';
import { Call } from '../../src/actors/router/call.ts';
import { clientId } from './ids.ts';

const replies = { add: () => {}, drop: () => {} };
const call = (id: number | string = 0, weight?: object, size = 0): Call =>
  new Call(
    { id: clientId(id), method: 'm', params: weight ? { weight } : undefined, size },
    () => ({}),
    {} as never,
    {} as never,
    replies,
  );

function startQueue(
  maxRunning: number,
  maxWaiting: number,
  maxWaitingBytes = Infinity,
  maxRunningBytes = Infinity,
) {
  const started: Call[] = [];
  const run = (each: Call) => void started.push(each);
  const bounds = { maxRunning, maxWaiting, maxWaitingBytes, maxRunningBytes };
  const places = new ConcurrencyLimit(bounds, 1);
  const quotas = new Quotas();
  const queue = new CallQueue(bounds, quotas.acquire(undefined), { run }, places);
  /** Ends a call as the router does. */
  const end = (each: Call) => {
    queue.remove(each);
    each.end();
  };
  const ids = () => started.map(({ id }) => id);
  return { queue, places, quotas, started, end, ids };
}

describe('CallQueue', () => {
  test('runs up to maxRunning calls, queues up to maxWaiting, and rejects the next', () => {
    const { queue, ids } = startQueue(2, 2);
    expect([1, 2, 3, 4, 5].map((id) => queue.add(call(id)))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
    expect(ids()).toEqual([1, 2]);
  });

  test('starts queued calls in order while slots are free, and only in startWaiting', () => {
    const { queue, started, end, ids } = startQueue(2, 10);
    for (const id of [1, 2, 3, 4, 5]) queue.add(call(id));
    end(started[0] as Call);
    expect(ids()).toEqual([1, 2]);
    queue.startWaiting();
    expect(ids()).toEqual([1, 2, 3]);
    end(started[1] as Call);
    end(started[2] as Call);
    queue.startWaiting();
    expect(ids()).toEqual([1, 2, 3, 4, 5]);
  });

  test('limits the size of queued messages, even during a hold, and frees it when a call starts or leaves', () => {
    const { queue, places, started, end } = startQueue(1, 10, 100);
    const sized = (size: number) => call(0, undefined, size);
    const large = sized(1_000_000);
    expect(queue.add(large)).toBe(true);
    expect(started).toEqual([large]);
    const [first, second] = [sized(60), sized(40)];
    expect([queue.add(first), queue.add(second)]).toEqual([true, true]);
    places.hold('output');
    expect(queue.add(sized(1))).toBe(false);
    expect(queue.add(sized(0))).toBe(true);
    end(second);
    expect(queue.waitingBytes).toBe(60);
    expect(queue.add(sized(41))).toBe(false);
    expect(queue.add(sized(40))).toBe(true);
    places.release('output');
    end(large);
    queue.startWaiting();
    expect(started).toEqual([large, first]);
    expect(queue.waitingBytes).toBe(40);
  });

  test('limits the size of running messages, parked ones included, but always runs one', () => {
    const { queue, started, end, quotas } = startQueue(10, 10, 10_000, 10_000);
    const sized = (size: number) => call(0, undefined, size);
    const [first, second, third, small] = [sized(6000), sized(5000), sized(4999), sized(1)];
    for (const each of [first, second, third, small]) expect(queue.add(each)).toBe(true);
    expect(started).toEqual([first]);
    queue.park(first);
    queue.startWaiting();
    expect(started).toEqual([first]);
    end(first);
    queue.startWaiting();
    expect(started).toEqual([first, second, third, small]);
    for (const each of [second, third, small]) end(each);
    const large = sized(15_000);
    expect(queue.add(large)).toBe(true);
    expect(started.at(-1)).toBe(large);
    expect(quotas.used.inFlight).toBe(15_000);
    end(large);
    expect(quotas.used.inFlight).toBe(0);
  });

  test('lets no call overtake the queue', () => {
    const { queue, started, end, ids } = startQueue(1, 10);
    for (const id of [1, 2]) queue.add(call(id));
    end(started[0] as Call);
    queue.add(call(3));
    queue.startWaiting();
    expect(ids()).toEqual([1, 2]);
  });

  test('gives the slot of a parked call to the next, and takes none back when the parked call ends', () => {
    const { queue, started, end, ids } = startQueue(1, 10);
    for (const id of [1, 2, 3]) queue.add(call(id));
    queue.park(started[0] as Call);
    queue.park(started[0] as Call);
    queue.startWaiting();
    expect(ids()).toEqual([1, 2]);
    end(started[0] as Call);
    queue.startWaiting();
    expect(ids()).toEqual([1, 2]);
    end(started[1] as Call);
    queue.startWaiting();
    expect(ids()).toEqual([1, 2, 3]);
  });

  test('skips queued calls that have ended, and reuses their places', () => {
    const { queue, started, end, ids } = startQueue(1, 1);
    const [first, second, third] = [call(1), call(2), call(3)];
    queue.add(first);
    queue.add(second);
    expect(queue.add(third)).toBe(false);
    end(second);
    expect(queue.add(third)).toBe(true);
    end(started[0] as Call);
    queue.startWaiting();
    expect(ids()).toEqual([1, 3]);
  });

  test('does not nest calls that end synchronously', () => {
    let depth = 0;
    let deepest = 0;
    let count = 0;
    const bounds = { maxRunning: 1, maxWaiting: 100_000, maxWaitingBytes: 1, maxRunningBytes: 1 };
    const places = new ConcurrencyLimit(bounds, 1);
    const queue: CallQueue = new CallQueue(
      bounds,
      new Quotas().acquire(undefined),
      {
        run: (each) => {
          deepest = Math.max(deepest, ++depth);
          count++;
          queue.remove(each);
          each.end();
          depth--;
        },
      },
      places,
    );
    places.hold('output');
    for (let id = 0; id < 50_000; id++) queue.add(call(id));
    places.release('output');
    queue.startWaiting();
    expect([count, deepest]).toEqual([50_000, 1]);
  });

  test('compacts ended calls even while none can start', async () => {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    const { queue, end } = startQueue(1, 10);
    queue.add(call('hangs'));
    const weights = Array.from({ length: 5000 }, (_, id) => {
      const weight = {};
      const each = call(id, weight);
      queue.add(each);
      end(each);
      return new WeakRef(weight);
    });
    await new Promise(setImmediate);
    gc();
    expect(weights.filter((each) => each.deref()).length).toBeLessThan(500);
  });
});

describe('CallQueue on hold', () => {
  test('starts nothing, queues any number, and lets running calls end', () => {
    const { queue, places, started, end, ids } = startQueue(2, 1);
    queue.add(call(1));
    places.hold('output');
    for (let id = 2; id < 50; id++) expect(queue.add(call(id))).toBe(true);
    end(started[0] as Call);
    queue.startWaiting();
    expect(ids()).toEqual([1]);
    places.release('output');
    expect(queue.add(call(99))).toBe(false);
    queue.startWaiting();
    expect(ids()).toEqual([1, 2, 3]);
  });
});

test('keeps the limits and the order for any sequence of adding, ending and holding, and runs all that fit', () => {
  const step = fc.record({
    kind: fc.constantFrom('add', 'add', 'end', 'park', 'hold', 'release', 'turn'),
    at: fc.nat({ max: 30 }),
  });
  const moreHeld = ['hold', 'add', 'add', 'add', 'add', 'add', 'add', 'release', 'add'] as const;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const { queue, places, started, end } = startQueue(3, 5);
      const accepted: Call[] = [];
      let held = false;
      for (const { kind, at } of steps) {
        const alive = accepted.filter(({ state }) => state !== 'ended');
        const one = alive[at % Math.max(1, alive.length)];
        if (kind === 'add') {
          const each = call(accepted.length);
          const waiting = alive.filter(({ state }) => state === 'waiting').length;
          const isTaken = queue.add(each);
          if (isTaken) accepted.push(each);
          // The limits do not apply to calls added during a hold.
          else expect([held, waiting >= 5]).toEqual([false, true]);
        } else if (kind === 'end' && one) end(one);
        else if (kind === 'park' && one) queue.park(one);
        else if (kind === 'hold') places.hold('output');
        else if (kind === 'release') places.release('output');
        else queue.startWaiting();
        if (kind === 'hold') held = true;
        if (kind === 'release') held = false;
        expect(accepted.filter(({ state }) => state === 'running').length).toBeLessThanOrEqual(3);
      }
      places.release('output');
      for (let left = accepted.length; left >= 0; left--) {
        queue.startWaiting();
        const isLeft = ({ state }: Call) => state === 'running' || state === 'parked';
        accepted.filter(isLeft).forEach(end);
      }
      expect(accepted.every(({ state }) => state === 'ended')).toBe(true);
      expect(started.map(({ id }) => id)).toEqual(
        started.map(({ id }) => id as number).toSorted((a, b) => a - b),
      );
    }),
    {
      numRuns: 500,
      examples: [[moreHeld.map((kind) => ({ kind, at: 0 }))]],
    },
  );
});
