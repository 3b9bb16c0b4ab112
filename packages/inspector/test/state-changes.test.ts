import { describe, expect, test } from 'vitest';
import { createActor, createMachine } from 'xstate';
import { watchTransitions } from '../src/state-changes.ts';
import type { Transition } from '../src/state-changes.ts';
import { Transitions } from '../../../src/actors/transitions.ts';

const door = createMachine({
  id: 'door',
  initial: 'shut',
  on: { knock: { actions: () => {} } },
  states: {
    shut: { on: { open: 'wide' } },
    wide: { initial: 'still', states: { still: { on: { push: 'swinging' } }, swinging: {} } },
  },
});

describe('watchTransitions', () => {
  const start = () => {
    const transitions = new Transitions(() => {});
    const actor = createActor(door).start();
    transitions.observe(actor, () => 'roots');
    const told: Transition[] = [];
    const stop = watchTransitions(transitions, (transition) => told.push(transition));
    return { actor, told, stop };
  };

  test('reports state changes with their cause and actor', () => {
    const { actor, told } = start();
    actor.send({ type: 'open' });
    actor.send({ type: 'push' });
    expect(told.map(({ machine, from, to, cause }) => [machine, from, to, cause])).toEqual([
      ['roots', 'shut', 'wide.still', 'open'],
      ['roots', 'wide.still', 'wide.swinging', 'push'],
    ]);
    expect(told[0]?.actor).toBe(actor);
    expect(told.map(({ after }) => after.value)).toEqual([{ wide: 'still' }, { wide: 'swinging' }]);
  });

  test('omits events that change no state', () => {
    const { actor, told } = start();
    actor.send({ type: 'knock' });
    expect(told).toEqual([]);
  });

  test('redacts secrets, truncates large values, and replaces actors by their names', () => {
    const { actor, told } = start();
    const list = Array.from({ length: 1000 }, () => 'x'.repeat(1000));
    actor.send({ type: 'open', token: 'hunter2', list, actor } as never);
    const event = told[0]?.event();
    expect(event).toMatchObject({ token: '[redacted]', actor: expect.stringMatching(/^\[actor /) });
    expect(JSON.stringify(event).length).toBeLessThan(30_000);
  });

  test('reports nothing after it is stopped', () => {
    const { actor, told, stop } = start();
    stop();
    actor.send({ type: 'open' });
    expect(told).toEqual([]);
  });
});
