import { readFileSync } from 'node:fs';
import { createMachine } from 'xstate';
import { describe, expect, test } from 'vitest';
import { withCharts } from '../../scripts/with-charts.ts';
import { mermaidDiagram } from '../../src/inspect/diagram.ts';

describe('a diagram', () => {
  test('shows states, nesting, ends, and one arrow for all that leads from one state to another', () => {
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

  test('in docs/architecture.md is the one that the machines draw today (npm run charts)', () => {
    const page = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8');
    expect(page).toContain('<!-- chart: session -->');
    expect(page).toContain('<!-- chart: roots -->');
    expect(page).toBe(withCharts(page));
  });
});
