import { describe, expect, test } from 'vitest';
import { createActor, createMachine, fromCallback } from 'xstate';
import { watchTransitions } from '../../src/inspect/gate.ts';
import type { Transition } from '../../src/inspect/gate.ts';

const plain = fromCallback(({ receive }) => receive(() => {}));

const machine = createMachine({
  id: 'door',
  invoke: { id: 'plain', src: plain },
  initial: 'shut',
  on: { knock: { actions: () => {} } },
  states: {
    shut: { on: { open: 'wide' } },
    wide: { initial: 'still', states: { still: { on: { push: 'swinging' } }, swinging: {} } },
  },
});

describe('the gate', () => {
  const start = () => {
    const actor = createActor(machine).start();
    const told: Transition[] = [];
    const stop = watchTransitions(actor, (transition) => told.push(transition));
    return { actor, told, stop };
  };

  test('lets changes of state through, with what caused them and where they come from', () => {
    const { actor, told } = start();
    actor.send({ type: 'open' });
    actor.send({ type: 'push' });
    expect(told.map(({ machine, from, to, event }) => [machine, from, to, event.type])).toEqual([
      ['door', 'shut', 'wide.still', 'open'],
      ['door', 'wide.still', 'wide.swinging', 'push'],
    ]);
    expect(told[0]?.actor).toBe(actor);
  });

  test('lets nothing else through: no event without a change, no plain actor', () => {
    const { actor, told } = start();
    actor.send({ type: 'knock' });
    actor.getSnapshot().children['plain']?.send({ type: 'anything' });
    expect(told).toEqual([]);
  });

  test('replaces secrets, bounds what is large, and names actors instead of showing them', () => {
    const { actor, told } = start();
    const list = Array.from({ length: 1000 }, () => 'x'.repeat(1000));
    actor.send({ type: 'open', token: 'hunter2', list, actor } as never);
    const event = told[0]?.event;
    expect(event).toMatchObject({ token: '[redacted]', actor: expect.stringMatching(/^\[actor /) });
    expect(JSON.stringify(event).length).toBeLessThan(30_000);
  });

  test('tells nothing more once it is stopped', () => {
    const { actor, told, stop } = start();
    stop();
    actor.send({ type: 'open' });
    expect(told).toEqual([]);
  });
});
