/** A retry whose run is not kept any more, and that is cancelled while its handler is run again. */
import { describe, expect, test } from 'vitest';
import type { RequestHandler } from '../../src/actors/request-context.ts';
import type { StateSealer } from '../../src/rounds/request-state.ts';
import { stateSealer } from '../../src/rounds/request-state.ts';
import { flush } from '../../packages/testing/src/clock.ts';
import { gate } from '../../packages/testing/src/gate.ts';
import { accepted, form, nameIn, startRounds } from './start-suspendable-calls.ts';

/** Asks twice, and tells what becomes of it. */
function telling() {
  const told: string[] = [];
  const handler: RequestHandler = async (_, exchange) => {
    told.push('begun');
    exchange.signal.addEventListener('abort', () => told.push('aborted'));
    try {
      const name = nameIn(await exchange.sendRequest(form('Name?')));
      told.push(`heard ${name}`);
      return { names: [name, nameIn(await exchange.sendRequest(form('Other?')))] };
    } finally {
      told.push('cleaned up');
    }
  };
  return { told, handler };
}

/** Holds every call of one of the sealer's methods at a gate, once the gate is wanted. */
function heldSealer(method: 'open' | 'digest' | 'turn') {
  const sealer = stateSealer('server');
  const held = gate();
  let state: 'open' | 'held' = 'open';
  const wrapped: StateSealer = {
    ...sealer,
    [method]: async (given: never) => {
      if (state === 'held') await held.pass();
      return await sealer[method](given);
    },
  };
  const hold = () => {
    state = 'held';
  };
  return { sealer: wrapped, held, hold };
}

describe('a retry that is cancelled', () => {
  test.each(['open', 'digest'] as const)(
    'while its state is decrypted (%s) runs no handler',
    async (method) => {
      const { sealer, held, hold } = heldSealer(method);
      const { told, handler } = telling();
      const { ask, retry, rounds, clock } = startRounds(handler, { sealer, resumption: 'replay' });
      const asking = await ask();
      await flush();
      expect(told.splice(0)).toEqual(['begun', 'aborted', 'cleaned up']);
      hold();
      const { result, cancel } = retry(asking, { q1: accepted('Ada') });
      await held.arrived();
      cancel();
      held.release();
      await expect(result).rejects.toMatchObject({ code: -32602 });
      await flush();
      expect(told).toEqual([]);
      expect([rounds.waiting, rounds.isIdle, clock.liveTimers]).toEqual([[], true, 0]);
    },
  );

  test('while its handler replays answers ends the handler without further questions', async () => {
    const { sealer, held, hold } = heldSealer('turn');
    const { told, handler } = telling();
    const { ask, retry, rounds, clock } = startRounds(handler, { sealer, resumption: 'replay' });
    const asking = await ask();
    await flush();
    told.splice(0);
    hold();
    const { result, cancel } = retry(asking, { q1: accepted('Ada') });
    // It has its first answer again, and what that sets off may ask more.
    await held.arrived();
    cancel();
    held.release();
    await expect(result).rejects.toMatchObject({ code: 'CANCELLED' });
    await flush();
    expect(told).toEqual(['begun', 'heard Ada', 'aborted', 'cleaned up']);
    expect([rounds.waiting, rounds.isIdle, clock.liveTimers]).toEqual([[], true, 0]);
  });

  test('does not prevent another retry', async () => {
    const { told, handler } = telling();
    const { ask, retry } = startRounds(handler, { resumption: 'replay' });
    const asking = await ask();
    const first = retry(asking, { q1: accepted('Ada') });
    first.cancel();
    await first.result.catch(() => undefined);
    await flush();
    const again = await retry(asking, { q1: accepted('Ada') }).result;
    expect(again).toMatchObject({ resultType: 'input_required' });
    expect(told.filter((each) => each === 'heard Ada')).toHaveLength(1);
  });
});
