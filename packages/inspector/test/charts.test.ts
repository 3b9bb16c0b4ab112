import { describe, expect, test } from 'vitest';
import { charts } from '../../../src/machines/charts.ts';
import type { ChartName } from '../../../src/machines/charts.ts';
import { svgDiagram } from '../src/charts/chart-svg.ts';
import type { AnyStateNode } from 'xstate';

const names = Object.keys(charts) as ChartName[];

const pathsIn = (node: AnyStateNode): string[] =>
  Object.values(node.states).flatMap((child) => [child.path.join('_'), ...pathsIn(child)]);

describe('the drawn charts', () => {
  test.each(names)('have every state of %s once, by its path', (name) => {
    const paths = pathsIn(charts[name].root);
    const drawn = [...svgDiagram(charts[name]).matchAll(/class="[^"]*\bs-(\w+)/g)].map(
      ([, id = '']) => id,
    );
    expect(drawn.toSorted()).toEqual(paths.toSorted());
  });

  test.each(names)('stand alone with a style for light and dark: %s', (name) => {
    const svg = svgDiagram(charts[name]);
    expect(svg).toMatch(/^<svg [^>]*xmlns="[^"]*"[^>]*>\n<style>/);
    expect(svg).toContain('prefers-color-scheme: dark');
    expect(svg).toMatch(/<\/svg>\n$/);
    expect(svg).not.toMatch(/="(black|white)"|<script|\bid=/);
  });
});
