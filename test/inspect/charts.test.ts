import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { chartsModule, drawnCharts } from '../../scripts/draw-charts.ts';
import { charts } from '../../src/inspect/charts/diagram.ts';
import type { ChartName } from '../../src/inspect/charts/diagram.ts';
import { chartDrawings } from '../../src/inspect/charts/charts.ts';
import { svgDiagram } from '../../src/inspect/charts/chart-svg.ts';
import type { AnyStateNode } from 'xstate';

const names = Object.keys(charts) as ChartName[];

const pathsIn = (node: AnyStateNode): string[] =>
  Object.values(node.states).flatMap((child) => [child.path.join('_'), ...pathsIn(child)]);

describe('the drawn charts', () => {
  test('are what the machines are today (npm run docs)', async () => {
    expect(readFileSync(chartsModule, 'utf8')).toBe(await drawnCharts());
  });

  test.each(names)('have every state of %s once, by its path', (name) => {
    const paths = pathsIn(charts[name].root);
    const drawn = [...chartDrawings[name].matchAll(/class="[^"]*\bs-(\w+)/g)].map(
      ([, id = '']) => id,
    );
    expect(drawn.toSorted()).toEqual(paths.toSorted());
  });

  test.each(names)('draw the box of each state of %s behind its name', (name) => {
    const boxes = chartDrawings[name].matchAll(
      // The box of a region of a parallel state has corners.
      /<g class="[^"]*\bs-\w+[^"]*">(<path [^>]*>|(?<=class="cluster [^<]*)<polygon [^>]*>)?<(\w+)/g,
    );
    expect([...boxes].filter(([, path]) => path === undefined)).toEqual([]);
  });

  test.each(names)('take their colours from what they stand in: %s', (name) => {
    expect(chartDrawings[name]).not.toMatch(/="(black|white)"|<script|<style|\bid=/);
  });

  test.each(names)('stand alone with a style for light and dark: %s', (name) => {
    const svg = svgDiagram(name);
    expect(svg).toMatch(/^<svg [^>]*xmlns="[^"]*"[^>]*>\n<style>/);
    expect(svg).toContain('prefers-color-scheme: dark');
    expect(svg).toMatch(/<\/svg>\n$/);
  });
});
