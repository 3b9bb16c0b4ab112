import { SimulatedClock, createActor } from 'xstate';
import { describe, expect, test } from 'vitest';
import { startupMachine } from '../../src/machines/startup.machine.ts';

function start(servers: readonly string[]) {
  const clock = new SimulatedClock();
  const actor = createActor(startupMachine, { clock, input: { servers, startupMs: 3000 } });
  actor.start();
  return { actor, clock };
}

describe('the start of many servers', () => {
  test('is over at once if there is none', () => {
    expect(start([]).actor.getSnapshot()).toMatchObject({ value: 'settled', output: { late: [] } });
  });

  test('is over with the last that settles, whatever the order', () => {
    const { actor } = start(['a', 'b']);
    actor.send({ type: 'server.settled', name: 'b' });
    actor.send({ type: 'server.settled', name: 'b' });
    actor.send({ type: 'server.settled', name: 'other' });
    expect(actor.getSnapshot().value).toBe('settling');
    actor.send({ type: 'server.settled', name: 'a' });
    expect(actor.getSnapshot()).toMatchObject({ value: 'settled', output: { late: [] } });
  });

  test('is over after its time, and says who is late', () => {
    const { actor, clock } = start(['a', 'b', 'c']);
    actor.send({ type: 'server.settled', name: 'b' });
    clock.increment(2999);
    expect(actor.getSnapshot().value).toBe('settling');
    clock.increment(1);
    expect(actor.getSnapshot()).toMatchObject({
      value: 'settled',
      output: { late: ['a', 'c'] },
    });
  });
});
