/** Machines drawn as stacked boxes with a row and an arrow per transition. */
import { createMachine } from 'xstate';
import type { AnyStateMachine } from 'xstate';
import { describe, expect, test } from 'vitest';
import { bookingMachine } from '../../../examples/booking/booking.machine.ts';
import { machineDefinition } from '../src/charts/machine-definition.ts';
import { drawMachine, svgText } from '../src/charts/machine-drawing.ts';
import type { SvgElement } from '../src/charts/machine-drawing.ts';
import { rootsMachine } from '../../../src/machines/roots.machine.ts';
import { everyMachine } from '../../../test/machines/every-machine.ts';

const draw = (machine: AnyStateMachine) => drawMachine(machineDefinition(machine));

interface Found {
  readonly names: string;
  readonly text: string;
  readonly lines: readonly string[];
}

/** Groups of a drawing with a class name. */
function groups({ children }: SvgElement, name: string): readonly Found[] {
  return children.flatMap((child) => {
    if (typeof child === 'string') return [];
    const names = String(child.attributes['class'] ?? '');
    if (!names.split(' ').includes(name)) return groups(child, name);
    const parts = child.children.filter((part): part is SvgElement => typeof part !== 'string');
    const text = parts
      .filter(({ tag }) => tag === 'text')
      .flatMap((part) => part.children.filter((each) => typeof each === 'string'))
      .join('');
    const lines = parts.flatMap(({ tag, attributes }) =>
      tag === 'path' ? [String(attributes['d'])] : [],
    );
    return [{ names, text, lines }];
  });
}

/** Left, top, right and bottom of a box. */
const sides = ({ lines }: Found) =>
  (lines[0]?.match(/[\d.]+/g) ?? []).slice(0, 4).map(Number) as [number, number, number, number];

describe('drawMachine', () => {
  test('draws a box per state and marks initial and final ones', () => {
    const boxes = groups(draw(bookingMachine), 'state');
    expect(boxes.map(({ text }) => text)).toEqual([
      ...['booking', '● people', 'seating', 'confirming', 'booked ◉', 'abandoned ◉'],
    ]);
    expect(boxes[1]?.names).toBe('node state s-people');
    expect(boxes[0]?.names).toBe('cluster state s-');
  });

  test('draws a row per transition with an arrow to its target', () => {
    const rows = groups(draw(bookingMachine), 'transition');
    const back = rows.find(({ names }) => names.endsWith('t-seating--people'));
    expect(back?.text).toBe('answer.accepted [goesBack]');
    const boxes = new Map(groups(draw(bookingMachine), 'state').map((box) => [box.text, box]));
    const [, top, right] = sides(boxes.get('● people') as Found);
    // The arrow ends at the box of the target state.
    expect(back?.lines[0]).toMatch(new RegExp(`V${top + 11}H${right + 7}$`));
    expect(rows.map(({ names }) => names)).toContain('transition t---abandoned');
  });

  test('nests each box in its parent without overlapping siblings', () => {
    const nested = createMachine({
      initial: 'a',
      states: {
        a: {
          initial: 'b',
          on: { x: '#deep' },
          states: { b: { on: { y: 'c' } }, c: { id: 'deep' } },
        },
        'two words': { type: 'parallel', states: { d: {}, e: {} } },
      },
    });
    const drawing = draw(nested);
    const boxes = groups(drawing, 'state');
    const at = (name: string) =>
      sides(boxes.find(({ names }) => names.split(' ').includes(`s-${name}`)) as Found);
    const [a, b, c, d] = [at('a'), at('a_b'), at('a_c'), at('two-words_d')];
    for (const inner of [b, c]) {
      expect(inner[0]).toBeGreaterThan(a[0]);
      expect(inner[1]).toBeGreaterThan(a[1]);
      expect(inner[2]).toBeLessThan(a[2]);
      expect(inner[3]).toBeLessThan(a[3]);
    }
    expect(c[1]).toBeGreaterThan(b[3]);
    expect(d[1]).toBeGreaterThan(a[3]);
    // Targets may refer to a custom state id.
    const [toDeep] = groups(drawing, 'transition');
    expect(toDeep?.names).toBe('transition t-a--a_c');
  });

  test('shares an arrow lane only between transitions to the same state', async () => {
    for (const machine of (await everyMachine()).values()) {
      const lanes = new Map<string, { from: number; to: number }[]>();
      for (const { lines } of groups(draw(machine), 'transition')) {
        for (const line of lines) {
          const [, from, x = '', to] = /,([\d.]+)H([\d.]+)V([\d.]+)/.exec(line) ?? [];
          const arrow = { from: Number(from), to: Number(to) };
          lanes.set(x, [...(lanes.get(x) ?? []), arrow]);
        }
      }
      expect(lanes.size).toBeGreaterThan(0);
      const top = ({ from, to }: { from: number; to: number }) => Math.min(from, to);
      const bottom = ({ from, to }: { from: number; to: number }) => Math.max(from, to);
      for (const arrows of lanes.values()) {
        for (const arrow of arrows) {
          const met = arrows.filter(
            (each) => top(each) <= bottom(arrow) && bottom(each) >= top(arrow),
          );
          expect(new Set(met.map(({ to }) => to)).size).toBe(1);
        }
      }
    }
  });

  test('wraps long labels between words', () => {
    const guards = 'isFirst and isSecond and isThird and isFourth and isFifth';
    const drawn = drawMachine(
      {
        id: 'm',
        type: 'compound',
        states: {
          a: { type: 'atomic', on: { go: [{ target: ['#m.b'], guard: guards }] } },
          b: { type: 'atomic' },
        },
      },
      { width: 240 },
    );
    expect(drawn.attributes['width']).toBeLessThanOrEqual(240);
    expect(
      svgText(drawn)
        .match(/<text[^>]*>[^<]*/g)
        ?.map((each) => each.replace(/.*>/, '')),
    ).toEqual([
      ...['m', 'a', 'b', 'go [isFirst and isSecond', 'and isThird and', 'isFourth and isFifth]'],
    ]);
  });

  test('reduces a folded state to its name and the last transition', () => {
    const definition = machineDefinition(rootsMachine);
    const drawn = drawMachine(definition, {
      ...{ width: 600, state: 'known', isOpen: (path) => path === 'known' },
      marked: { from: 'querying.fresh', to: 'known', cause: 'ask done', as: 'last' },
    });
    const boxes = groups(drawn, 'state').map(({ names }) => names);
    expect(boxes).toEqual([
      'cluster state s-',
      ...['unasked', 'due', 'deferred', 'querying'].map((name) => `node state s-${name} folded`),
      'node state s-known active',
      'node state s-unsupported folded',
      'node state s-retrying folded',
    ]);
    const rows = groups(drawn, 'transition').map(({ names, text }) => [names, text]);
    expect(rows).toEqual([
      ['transition t-known--due', 'roots.invalidate'],
      ['transition t-querying--known last', 'ask done'],
    ]);
    // A state with nothing to unfold is not a button.
    expect(svgText(drawn).match(/data-state="\w+"/g)).toEqual(
      ['unasked', 'due', 'deferred', 'querying', 'known', 'retrying'].map(
        (name) => `data-state="${name}"`,
      ),
    );
  });

  test('escapes markup in names and bounds its width', () => {
    const event = `<script>"&${'x'.repeat(500)}`;
    const hostile = createMachine({ initial: 'a', states: { a: { on: { [event]: 'a' } } } });
    const text = svgText(draw(hostile));
    expect(text).toContain('&lt;script&gt;&quot;&amp;xxx');
    expect(text).not.toContain('<script');
    expect(text.length).toBeLessThan(3000);
  });
});
