import { describe, expect, test } from 'vitest';
import { charts } from '../../../src/charts.ts';
import type { ChartName } from '../../../src/charts.ts';
import { svgDiagram } from '../src/charts/chart-svg.ts';
import { mermaidDiagram } from '../src/charts/diagram.ts';
import { machineDefinition } from '../src/charts/machine-definition.ts';
import type { StateDefinition } from '../src/charts/machine-definition.ts';
import type { AnyStateNode } from 'xstate';

const names = Object.keys(charts) as ChartName[];

const pathsIn = (node: AnyStateNode): string[] =>
  Object.values(node.states).flatMap((child) => [child.path.join('_'), ...pathsIn(child)]);

/**
 * Pairs of states that the code's transitions connect, with `always` for eventless ones: `a --> b:
 * always`.
 */
function connectionsIn(node: AnyStateNode): string[] {
  const by = (
    cause: string,
    transitions: readonly { target?: readonly AnyStateNode[] | undefined }[],
  ) =>
    transitions.flatMap(({ target = [] }) =>
      target.map((to) => `${node.path.join('_')} --> ${to.path.join('_')}${cause}`),
    );
  // Diagrams draw the root's transitions from each state.
  const own = node.parent
    ? [...by('', [...node.transitions.values()].flat()), ...by(': always', node.always ?? [])]
    : [];
  return [...own, ...Object.values(node.states).flatMap(connectionsIn)];
}

/** Number of transitions in a definition. */
function countIn({ on, after, always, onDone, invoke, states }: StateDefinition): number {
  const own = [on, after].flatMap((each) => Object.values(each ?? {})).flat();
  const ends = (invoke ?? []).flatMap((each) => [...(each.onDone ?? []), ...(each.onError ?? [])]);
  const inner = Object.values(states ?? {}).map(countIn);
  return [own, ends, always ?? [], onDone ?? []]
    .map(({ length }) => length)
    .concat(inner)
    .reduce((sum, each) => sum + each, 0);
}

const transitionsIn = (node: AnyStateNode): number =>
  [...node.transitions.values()].flat().length +
  (node.always ?? []).length +
  Object.values(node.states).reduce((sum, each) => sum + transitionsIn(each), 0);

describe('drawn charts', () => {
  test.each(names)('contain every state of %s once, by its path', (name) => {
    const paths = pathsIn(charts[name].root);
    const drawn = [...svgDiagram(charts[name]).matchAll(/class="[^"]*\bs-(\w+)/g)].map(
      ([, id = '']) => id,
    );
    expect(drawn.toSorted()).toEqual(paths.toSorted());
  });

  test.each(names)(
    'contain every transition of %s, with or without an event, in each format',
    (name) => {
      const connections = [...new Set(connectionsIn(charts[name].root))];
      const arrows = mermaidDiagram(charts[name])
        .split('\n')
        .flatMap((line) => {
          const [, arrow = '', label = ''] = /^ +(\w+ --> \w+): (.*)$/.exec(line) ?? [];
          const causes = label.split(' <br/> ');
          const always = causes.filter((cause) => /^always\b/.test(cause));
          const isAnyEvent = always.length < causes.length;
          return [
            ...(isAnyEvent ? [arrow] : []),
            ...(always.length > 0 ? [`${arrow}: always`] : []),
          ];
        });
      expect(connections.filter((each) => !arrows.includes(each))).toEqual([]);
      const pictured = [...svgDiagram(charts[name]).matchAll(/\bt-(\w+--\w+)/g)].map(
        ([, pair = '']) => pair.replace('--', ' --> '),
      );
      const pairs = connections
        .map((each) => each.replace(/: always$/, ''))
        // A transition to its own state is a row without an arrow.
        .filter((each) => !/^(\w+) --> \1$/.test(each));
      expect(pairs.filter((each) => !pictured.includes(each))).toEqual([]);
      expect(countIn(machineDefinition(charts[name]))).toBe(transitionsIn(charts[name].root));
    },
  );

  test.each(names)('carry their own styles for light and dark mode: %s', (name) => {
    const svg = svgDiagram(charts[name]);
    expect(svg).toMatch(/^<svg [^>]*xmlns="[^"]*"[^>]*>\n<style>/);
    expect(svg).toContain('prefers-color-scheme: dark');
    expect(svg).toMatch(/<\/svg>\n$/);
    expect(svg).not.toMatch(/="(black|white)"|<script|\bid=/);
  });
});
