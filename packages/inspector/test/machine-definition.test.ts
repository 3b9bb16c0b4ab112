import {
  and,
  createMachine,
  fromPromise,
  initialTransition,
  setup,
  stateIn,
  transition,
} from 'xstate';
import type { AnyStateMachine } from 'xstate';
import { describe, expect, test } from 'vitest';
import { charts } from '../../../src/charts.ts';
import { mermaidDiagram } from '../src/charts/diagram.ts';
import { machineDefinition } from '../src/charts/machine-definition.ts';
import { everyMachine } from '../../../test/machines/every-machine.ts';

const roundTrip = (machine: AnyStateMachine) =>
  createMachine(JSON.parse(JSON.stringify(machineDefinition(machine))) as never);

describe('machineDefinition', () => {
  test('normalizes every part of a machine', () => {
    const machine = setup({
      actors: { work: fromPromise(() => Promise.resolve(1)) },
      actions: { note: () => {}, tidy: () => {} },
      guards: { isReady: () => true, isOften: (_, _times: number) => true },
      delays: { patienceTimeout: 10 },
    }).createMachine({
      id: 'sample',
      initial: 'idle',
      on: { stop: '.done' },
      states: {
        idle: {
          description: 'Nothing to do.',
          exit: 'tidy',
          always: { guard: stateIn('done'), target: 'done' },
          on: {
            go: [
              {
                guard: and(['isReady', { type: 'isOften', params: 3 }]),
                target: 'busy',
                actions: ['note', 'tidy'],
              },
              { actions: { type: 'note' } },
            ],
            again: { target: 'idle', reenter: true },
          },
        },
        busy: {
          initial: 'first',
          entry: ['note', () => {}],
          invoke: { id: 'worker', src: 'work', onDone: 'done', onError: { actions: 'note' } },
          after: { patienceTimeout: 'done', 500: '.second' },
          onDone: 'idle',
          states: { first: {}, second: { type: 'final' } },
        },
        done: { type: 'final' },
      },
    });
    expect(machineDefinition(machine)).toEqual({
      id: 'sample',
      type: 'compound',
      initial: 'idle',
      on: { stop: [{ target: ['#sample.done'] }] },
      states: {
        idle: {
          type: 'atomic',
          description: 'Nothing to do.',
          exit: ['tidy'],
          always: [{ target: ['#sample.done'], guard: expect.any(String) as string }],
          on: {
            go: [
              {
                target: ['#sample.busy'],
                guard: 'isReady and isOften',
                actions: ['note', 'tidy'],
              },
              { actions: ['note'] },
            ],
            again: [{ target: ['#sample.idle'], reenter: true }],
          },
        },
        busy: {
          type: 'compound',
          initial: 'first',
          entry: ['note', 'inline'],
          invoke: [
            {
              id: 'worker',
              src: 'work',
              onDone: [{ target: ['#sample.done'] }],
              onError: [{ actions: ['note'] }],
            },
          ],
          after: {
            500: [{ target: ['#sample.busy.second'] }],
            patienceTimeout: [{ target: ['#sample.done'] }],
          },
          onDone: [{ target: ['#sample.idle'] }],
          states: { first: { type: 'atomic' }, second: { type: 'final' } },
        },
        done: { type: 'final' },
      },
    });
  });

  test.each(Object.entries(charts))(
    'recreates an identical machine from the definition of %s',
    (_, machine) => {
      const again = roundTrip(machine);
      expect(machineDefinition(again)).toEqual(machineDefinition(machine));
      expect(mermaidDiagram(again)).toBe(mermaidDiagram(machine));
    },
  );

  test('covers every machine of the library', async () => {
    const machines = [...(await everyMachine()).values()];
    expect(Object.values(charts)).toEqual(expect.arrayContaining(machines));
  });
});

test('machineDefinition keeps custom state ids, so that transitions still reach them', () => {
  const machine = createMachine({
    initial: 'a',
    states: { a: { on: { go: '#far' } }, b: { initial: 'c', states: { c: { id: 'far' } } } },
  });
  const again = roundTrip(machine);
  const [start] = initialTransition(again);
  const [snapshot] = transition(again, start, { type: 'go' });
  expect(snapshot.value).toEqual({ b: 'c' });
});
