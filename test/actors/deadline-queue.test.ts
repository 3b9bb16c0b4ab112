import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DeadlineQueue, Expiring } from '../../src/actors/correlation/deadline-queue.ts';
import { CountingClock } from './counting-clock.ts';

class Item extends Expiring {
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
  }
}
const item = (name: string): Item => new Item(name);

function startQueue(onDue: (item: Item) => void = () => {}) {
  const clock = new CountingClock();
  const due: string[] = [];
  const queue = new DeadlineQueue<Item>(clock, (each) => {
    due.push(each.name);
    onDue(each);
  });
  return { clock, due, queue };
}

describe('DeadlineQueue', () => {
  test('fires once, to the millisecond', () => {
    const { clock, due, queue } = startQueue();
    queue.add(item('a'), 100);
    clock.increment(99);
    expect(due).toEqual([]);
    clock.increment(1);
    expect(due).toEqual(['a']);
    clock.increment(1000);
    expect(due).toEqual(['a']);
    expect(clock.timers).toBe(0);
  });

  test('fires a zero deadline at the next tick of the clock, not synchronously', () => {
    const { clock, due, queue } = startQueue();
    queue.add(item('a'), 0);
    expect(due).toEqual([]);
    clock.increment(0);
    expect(due).toEqual(['a']);
  });

  test('does not fire a fractional deadline early', () => {
    const { clock, due, queue } = startQueue();
    queue.add(item('a'), 0.4);
    clock.increment(0.3);
    expect(due).toEqual([]);
    clock.increment(0.7);
    expect(due).toEqual(['a']);
  });

  test('sets no timer for an infinite deadline, and blocks no other item', () => {
    const { clock, due, queue } = startQueue();
    queue.add(item('never'), Infinity);
    expect(clock.timers).toBe(0);
    queue.add(item('a'), 10);
    clock.increment(10);
    expect([due, clock.timers]).toEqual([['a'], 0]);
  });

  test('moves a deadline when the item is added again, and drops it when the item is removed', () => {
    const { clock, due, queue } = startQueue();
    const [a, b] = [item('a'), item('b')];
    queue.add(a, 100);
    queue.add(b, 100);
    clock.increment(60);
    queue.add(a, 100);
    queue.remove(b);
    queue.remove(b);
    clock.increment(99);
    expect(due).toEqual([]);
    clock.increment(1);
    expect(due).toEqual(['a']);
  });

  test('lets a callback add its item again', () => {
    const { clock, due, queue } = startQueue((each) => {
      if (due.length < 3) queue.add(each, 10);
    });
    queue.add(item('a'), 10);
    for (let i = 0; i < 5; i++) clock.increment(10);
    expect(due).toEqual(['a', 'a', 'a']);
    expect(clock.timers).toBe(0);
  });

  test('lets a callback remove another item of the same moment', () => {
    const others = [item('b'), item('c')];
    const { clock, due, queue } = startQueue(() => others.forEach((other) => queue.remove(other)));
    queue.add(item('a'), 10);
    queue.add(others[0] as Item, 10);
    queue.add(others[1] as Item, 5);
    queue.remove(others[1] as Item);
    queue.add(others[1] as Item, 10.5);
    clock.increment(20);
    expect(due).toEqual(['a']);
  });

  test('fires nothing after clear, not even items of the same moment', () => {
    const { clock, due, queue } = startQueue(() => queue.clear());
    for (const name of ['a', 'b']) queue.add(item(name), 10);
    queue.add(item('c'), 5);
    clock.increment(20);
    expect(due).toHaveLength(1);
    expect(clock.timers).toBe(0);
  });
});

describe('the timer of DeadlineQueue', () => {
  test('is a single one, however many deadlines there are', () => {
    const { clock, queue } = startQueue();
    for (let i = 0; i < 10_000; i++) {
      queue.add(item(String(i)), 1 + (i % 7));
      expect(clock.timers).toBe(1);
    }
  });

  test('is not reset for deadlines later than the next', () => {
    const { clock, queue } = startQueue();
    queue.add(item('first'), 10);
    for (let i = 0; i < 1000; i++) {
      const each = item(String(i));
      queue.add(each, 1000);
      queue.remove(each);
    }
    expect(clock.made).toBe(1);
  });

  test('is stopped by clear', () => {
    const { clock, due, queue } = startQueue();
    queue.add(item('a'), 10);
    queue.clear();
    expect(clock.timers).toBe(0);
    clock.increment(100);
    queue.add(item('b'), 10);
    clock.increment(10);
    expect(due).toEqual(['b']);
  });

  test('is set again if it fires too early', () => {
    const due: string[] = [];
    let now = 0;
    const timers: (() => void)[] = [];
    const clock = {
      now: () => now,
      setTimeout: (callback: () => void) => timers.push(callback),
      clearTimeout: () => {},
    };
    const queue = new DeadlineQueue<Item>(clock, ({ name }) => due.push(name));
    queue.add(item('a'), 2 ** 32);
    now = 2 ** 31;
    timers.shift()?.();
    expect([due, timers.length]).toEqual([[], 1]);
    now = 2 ** 32;
    timers.shift()?.();
    expect([due, timers.length]).toEqual([['a'], 0]);
  });
});

type Step =
  | { readonly kind: 'add'; readonly index: number; readonly durationMs: number }
  | { readonly kind: 'remove'; readonly index: number }
  | { readonly kind: 'advance'; readonly ms: number };

const index = fc.nat({ max: 7 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('add' as const),
    index,
    durationMs: fc.oneof(fc.constantFrom(5, 10, 50), fc.nat({ max: 60 }), fc.constant(Infinity)),
  }),
  fc.record({ kind: fc.constant('remove' as const), index }),
  fc.record({ kind: fc.constant('advance' as const), ms: fc.nat({ max: 40 }) }),
);

test('fires the same deadlines as a naive list, for any sequence of adding, removing and waiting', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { clock, due, queue } = startQueue();
      const items = Array.from({ length: 8 }, (_, i) => item(String(i)));
      const model = new Map<string, number>();
      const expected: string[] = [];
      for (const each of steps) {
        if (each.kind === 'advance') {
          clock.increment(each.ms);
          for (const [name, at] of [...model]) {
            if (at > clock.now()) continue;
            model.delete(name);
            expected.push(name);
          }
        } else {
          const one = items[each.index] as Item;
          if (each.kind === 'add') {
            queue.add(one, each.durationMs);
            model.set(one.name, clock.now() + each.durationMs);
          } else {
            queue.remove(one);
            model.delete(one.name);
          }
        }
        expect(due.toSorted()).toEqual(expected.toSorted());
        expect(clock.timers).toBeLessThanOrEqual(1);
        if ([...model.values()].some(Number.isFinite)) expect(clock.timers).toBe(1);
      }
      clock.increment(1000);
      expect(clock.timers).toBe(0);
    }),
    { numRuns: 500 },
  );
});
