import { createActor, fromPromise } from 'xstate';
import { describe, expect, test } from 'vitest';
import { TestClock } from 'mcp-actors/testing';
import { RuntimeError } from 'mcp-actors';
import type { InputScope } from '../../src/machines/peer-ports.ts';
import { managedServerMachine } from '../../packages/bridge/src/managed-server.machine.ts';
import type { ManagedServerEvent } from '../../packages/bridge/src/managed-server.machine.ts';

const lost: ManagedServerEvent = { type: 'connection.lost', error: new Error('it has ended') };
const failed: ManagedServerEvent = { type: 'connection.failed', error: new Error('it is gone') };
const ready: ManagedServerEvent = { type: 'connection.ready' };
const rest: ManagedServerEvent = { type: 'server.suspend' };
const wake: ManagedServerEvent = { type: 'server.activate' };
const close: ManagedServerEvent = { type: 'server.close' };

/** Waits until the result of an attempt has been processed. */
const heard = () => new Promise((resolve) => setImmediate(resolve));

/** @param attempts outcome of each attempt to open the server */
function member(...attempts: readonly (Error | undefined)[]) {
  const clock = new TestClock();
  const left = [...attempts];
  const open = fromPromise<void, InputScope>(async () => {
    if (left.length === 0) throw new Error('one attempt too many');
    const error = left.shift();
    if (error) throw error;
  });
  const actor = createActor(managedServerMachine.provide({ actors: { open } }), {
    input: { times: { retryMs: 1000, maxRetryMs: 3000 }, now: () => clock.now() },
    clock,
  }).start();
  return { actor, clock, state: () => actor.getSnapshot().value, left };
}

describe('the managed-server machine', () => {
  test.each<[readonly ManagedServerEvent[], string]>([
    [[], 'ready'],
    [[ready], 'ready'],
    [[lost], 'lost'],
    [[lost, lost], 'lost'],
    [[lost, ready], 'ready'],
    [[lost, failed], 'failed'],
    [[failed], 'failed'],
    [[failed, ready], 'failed'],
    [[close], 'closed'],
    [[failed, close], 'closed'],
    [[rest], 'resting'],
    [[lost, rest], 'resting'],
    [[failed, rest], 'resting'],
    [[rest, failed], 'resting'],
    [[rest, lost], 'resting'],
    [[rest, ready], 'resting'],
    [[wake], 'ready'],
    [[rest, close], 'closed'],
  ])('once opened, is after %j in the state %s', async (events, state) => {
    const { actor, state: now } = member(undefined);
    expect(now()).toBe('opening');
    await heard();
    for (const event of events) actor.send(event);
    expect(now()).toBe(state);
  });

  test('opens an idle server when it is needed, and not before', async () => {
    const { actor, clock, state, left } = member(undefined, undefined);
    await heard();
    actor.send(rest);
    clock.increment(10_000);
    await heard();
    expect([state(), left.length]).toEqual(['resting', 1]);
    actor.send(wake);
    expect(state()).toBe('waking');
    await heard();
    expect([state(), left.length]).toEqual(['ready', 0]);
  });

  test('retries with increasing delays, and says since when and why the server is unavailable', async () => {
    const crash = new Error('it crashed');
    const { actor, clock, state, left } = member(crash, crash, crash, undefined);
    await heard();
    for (const [delay, after] of [
      [1000, 2],
      [2000, 1],
      [3000, 0],
    ] as const) {
      expect(actor.getSnapshot().context).toMatchObject({ error: crash, since: 0 });
      clock.increment(delay - 1);
      expect(state()).toBe('failed');
      clock.increment(1);
      await heard();
      expect(left).toHaveLength(after);
    }
    expect(state()).toBe('ready');
    expect(actor.getSnapshot().context).toMatchObject({
      ...{ error: undefined, failures: 0, since: 6000 },
    });
  });

  test('does not retry if a person would be asked again', async () => {
    const { clock, state } = member(new RuntimeError('UNAUTHORIZED', 'log in'), undefined);
    await heard();
    clock.increment(10_000);
    await heard();
    expect(state()).toBe('failed');
  });
});
