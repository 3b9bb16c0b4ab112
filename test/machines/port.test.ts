import { createActor } from 'xstate';
import { describe, expect, test, vi } from 'vitest';
import { plainActor, unprovided } from '../../src/machines/port.ts';

interface Add {
  readonly type: 'add';
  readonly value: number;
}

/** An actor that sums its events, and throws on a negative number. */
const sum = (stop: () => void) =>
  plainActor<Add, number>(({ input }) => {
    const view = { total: input };
    return {
      view,
      stop,
      receive: ({ value }) => {
        if (value < 0) throw new Error('negative');
        view.total += value;
      },
    };
  });

describe('plainActor', () => {
  test('processes events and shows its live view', () => {
    const actor = createActor(
      sum(() => {}),
      { input: 1 },
    );
    actor.start();
    actor.send({ type: 'add', value: 2 });
    expect(actor.getSnapshot().behaviour?.view).toEqual({ total: 3 });
    expect(actor.getSnapshot().status).toBe('active');
  });

  test('does nothing before it is started', () => {
    const start = vi.fn(() => ({ receive: () => {} }));
    const actor = createActor(plainActor(start), { input: 0 });
    expect(start).not.toHaveBeenCalled();
    actor.start();
    expect(start).toHaveBeenCalledOnce();
  });

  test('releases its resources once when stopped', () => {
    const stop = vi.fn();
    const actor = createActor(sum(stop), { input: 0 });
    actor.start();
    actor.stop();
    actor.stop();
    expect(stop).toHaveBeenCalledOnce();
    expect(actor.getSnapshot().status).toBe('stopped');
  });

  test('may be stopped before it is started', () => {
    const stop = vi.fn();
    createActor(sum(stop), { input: 0 }).stop();
    expect(stop).not.toHaveBeenCalled();
  });

  test('ends with the error it threw, and releases its resources', () => {
    const stop = vi.fn();
    const error = vi.fn();
    const actor = createActor(sum(stop), { input: 0 });
    actor.subscribe({ error });
    actor.start();
    actor.send({ type: 'add', value: -1 });
    expect(error).toHaveBeenCalledExactlyOnceWith(new Error('negative'));
    expect(actor.getSnapshot().status).toBe('error');
    expect(stop).toHaveBeenCalledOnce();
  });

  test('has a persisted snapshot with only its status', () => {
    const actor = createActor(
      sum(() => {}),
      { input: 0 },
    );
    actor.start();
    expect(JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))).toEqual({ status: 'active' });
  });
});

test('reports an actor that was not provided by name, and how to provide it', () => {
  const error = vi.fn<(error: unknown) => void>();
  const actor = createActor(unprovided<Add, undefined>('writer'), { input: undefined });
  actor.subscribe({ error });
  actor.start();
  expect(String(error.mock.calls[0]?.[0])).toMatch(/"writer".*machine\.provide/);
});
