import { and, createMachine, not, or } from 'xstate';
import { describe, expect, test } from 'vitest';
import { mermaidDiagram } from '../src/charts/diagram.ts';

describe('mermaidDiagram', () => {
  test('names combined guards with and, or and not', () => {
    const machine = createMachine({
      initial: 'here',
      states: {
        here: {
          on: {
            a: { guard: and(['isOne', 'isOther']), target: 'there' },
            b: { guard: or(['isOne', 'isOther']), target: 'there' },
            c: { guard: not('isOne'), target: 'there' },
          },
        },
        there: {},
      },
    });
    expect(mermaidDiagram(machine)).toContain(
      'here --> there: a [isOne and isOther] <br/> b [isOne or isOther] <br/> c [not isOne]\n',
    );
  });

  test('draws states, nesting and final states, with one arrow per pair of states', () => {
    const machine = createMachine({
      initial: 'idle',
      on: { stop: '.done' },
      states: {
        idle: { on: { go: { guard: 'isReady', target: 'busy', actions: 'start' }, skip: 'done' } },
        busy: {
          initial: 'first',
          after: { patience: 'done' },
          states: { first: { on: { next: 'second' } }, second: {} },
        },
        done: { type: 'final' },
      },
    });
    expect(mermaidDiagram(machine)).toBe(`stateDiagram-v2
  [*] --> idle
  state "idle" as idle
  state busy {
    [*] --> busy_first
    state "first" as busy_first
    state "second" as busy_second
  }
  state "done" as done
  done --> [*]
  idle --> busy: go [isReady] / start
  idle --> done: skip <br/> stop
  busy --> done: after patience <br/> stop
  busy_first --> busy_second: next
`);
  });
});
