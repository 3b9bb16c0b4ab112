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

describe('a deadline', () => {
  test('is met to the millisecond, once', () => {
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

  test('of nothing at all is met at the next tick of the clock, not at once', () => {
    const { clock, due, queue } = startQueue();
    queue.add(item('a'), 0);
    expect(due).toEqual([]);
    clock.increment(0);
    expect(due).toEqual(['a']);
  });

  test('that is fractional is not met early', () => {
    const { clock, due, queue } = startQueue();
    queue.add(item('a'), 0.4);
    clock.increment(0.3);
    expect(due).toEqual([]);
    clock.increment(0.7);
    expect(due).toEqual(['a']);
  });

  test('that never comes sets no timer and holds up nobody', () => {
    const { clock, due, queue } = startQueue();
    queue.add(item('never'), Infinity);
    expect(clock.timers).toBe(0);
    queue.add(item('a'), 10);
    clock.increment(10);
    expect([due, clock.timers]).toEqual([['a'], 0]);
  });

  test('is moved by adding the item again, and forgotten by removing it', () => {
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

  test('may be set anew by the one that was met', () => {
    const { clock, due, queue } = startQueue((each) => {
      if (due.length < 3) queue.add(each, 10);
    });
    queue.add(item('a'), 10);
    for (let i = 0; i < 5; i++) clock.increment(10);
    expect(due).toEqual(['a', 'a', 'a']);
    expect(clock.timers).toBe(0);
  });

  test('of one item may be lifted by another one that was met in the same moment', () => {
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

  test('is met by nobody once the queue is cleared, even by one that was met in the same moment', () => {
    const { clock, due, queue } = startQueue(() => queue.clear());
    for (const name of ['a', 'b']) queue.add(item(name), 10);
    queue.add(item('c'), 5);
    clock.increment(20);
    expect(due).toHaveLength(1);
    expect(clock.timers).toBe(0);
  });
});

describe('the timer', () => {
  test('is one, however many deadlines there are', () => {
    const { clock, queue } = startQueue();
    for (let i = 0; i < 10_000; i++) {
      queue.add(item(String(i)), 1 + (i % 7));
      expect(clock.timers).toBe(1);
    }
  });

  test('is not set anew for deadlines that come later than the next', () => {
    const { clock, queue } = startQueue();
    queue.add(item('first'), 10);
    for (let i = 0; i < 1000; i++) {
      const each = item(String(i));
      queue.add(each, 1000);
      queue.remove(each);
    }
    expect(clock.made).toBe(1);
  });

  test('is stopped by clearing', () => {
    const { clock, due, queue } = startQueue();
    queue.add(item('a'), 10);
    queue.clear();
    expect(clock.timers).toBe(0);
    clock.increment(100);
    queue.add(item('b'), 10);
    clock.increment(10);
    expect(due).toEqual(['b']);
  });

  test('that fires too early is set again', () => {
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

test('any adding, removing and waiting meets the deadlines of a naive list', () => {
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
