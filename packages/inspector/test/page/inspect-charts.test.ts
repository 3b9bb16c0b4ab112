/** Every chart can be read: at three widths, in each state, folded and whole, by the boxes that a real browser gives its texts. */
import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { inspectPage } from '@mcp-actors/inspector';
import type { InspectedPage } from '@mcp-actors/inspector';
import { charts } from '../../../../src/machines/charts.ts';
import type { StateMeta } from '../../../../src/machines/names.ts';
import { nodesOf } from '../../../../test/machines/every-machine.ts';
import { needsChromium, newPage } from '../../../../test/browser/chromium.ts';
import { open } from './inspected.ts';
import { drawnCharts, readingFaults } from './layout.ts';

const { SCREENSHOTS: folder } = process.env;
const widths = [1440, 1024, 390];
const names = Object.keys(charts) as (keyof typeof charts)[];

/** The names of the states that a machine may be in. */
const statesOf = (machine: AnyStateMachine) => {
  const nodes = nodesOf(machine.root);
  const isNameless = (path: readonly string[]) =>
    (nodes.find((node) => node.path.join() === path.join())?.meta as StateMeta | undefined)
      ?.isNameless === true;
  return nodes
    .filter(({ type }) => type === 'atomic' || type === 'final')
    .map(({ path }) => path.filter((_, at) => !isNameless(path.slice(0, at + 1))).join('.'));
};

/** Shows a connection with one actor for each state that a machine may be in. */
function show(name: keyof typeof charts, { watcher }: InspectedPage): void {
  const level = { count: 0, max: 1 };
  const dump = {
    ...({ side: 'host', id: name, name, state: 'ready.stable' } as const),
    ...{ ageMs: 1, quietMs: 1, sinceMs: 1, attempt: 0, launches: 1 },
    ...{ lists: [], calls: [], pending: [] },
    queues: { running: level, waiting: level, pending: level, outboundBytes: level, holds: [] },
    actors: statesOf(charts[name]).map((state) => ({
      ...({ id: `in ${state}`, chart: name, kind: 'machine', status: 'active', state } as const),
    })),
  };
  const listen = () => () => {};
  const closed = new Promise<undefined>(() => {});
  const watched = {
    ...dump,
    dump: () => dump,
    closed,
    traffic: { listen },
    transitions: { listen },
  };
  watcher(watched as unknown as Parameters<typeof watcher>[0]);
}

describe('the charts', () => {
  test.for(names)('can be read in each state of %s, at each width', async (name, context) => {
    needsChromium(context);
    const inspected = await inspectPage();
    onTestFinished(() => inspected.close());
    show(name, inspected);
    const { page, faults } = await open(inspected.url);
    const readable = statesOf(charts[name]).map((state) => {
      return { id: `in-${state.replaceAll('.', '-')}`, active: 1, faults: [] };
    });
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      expect(await drawnCharts(page)).toEqual(readable);
      const chart = page.locator('.chart');
      if (folder !== undefined) await chart.screenshot({ path: `${folder}/${name}-${width}.png` });
      await page.locator('#whole').click();
      const all = nodesOf(charts[name].root).length;
      await expect.poll(() => page.locator('.drawing .state').count()).toBe(all);
      expect(await readingFaults(page, '.drawing svg', '.chart')).toEqual([]);
      if (folder !== undefined) {
        const path = `${folder}/${name}-${width}-whole.png`;
        await chart.screenshot({ path });
      }
      await page.locator('#whole').click();
    }
    expect(faults).toEqual([]);
  });

  test('unfold by hand what is not active, with the keyboard too, and stay so', async (context) => {
    needsChromium(context);
    const inspected = await inspectPage();
    onTestFinished(() => inspected.close());
    show('session', inspected);
    const { page } = await open(inspected.url);
    const tab = (state: string) => page.locator(`#tab-in-${state}`);
    await tab('uninitialized').click();
    const draining = page.locator('.drawing [data-state=draining]');
    expect(await draining.getAttribute('aria-expanded')).toBe('false');
    expect(await page.locator('.drawing .s-draining_prompt').count()).toBe(0);
    await draining.click();
    await page.locator('.drawing .s-draining_prompt').waitFor();
    await draining.focus();
    await page.keyboard.press('Enter');
    await page.locator('.drawing .s-draining_prompt').waitFor({ state: 'detached' });
    // The active state too can be folded: the one around it is lit then.
    await page.locator('.drawing [data-state=open]').click();
    await page.locator('.drawing .node.s-open.active').waitFor();
    await page.keyboard.press('w');
    await page.locator('.drawing .s-draining_prompt_settling').waitFor();
  });

  test.for(names)('can be read in the docs: %s', async (name, context) => {
    needsChromium(context);
    const page = await newPage();
    const file = new URL(`../../../../docs/charts/${name}.svg`, import.meta.url);
    const svg = readFileSync(file, 'utf8').replace(
      '<svg ',
      '<svg style="max-width: 100%; height: auto" ',
    );
    // A forge leaves a page so much of a phone.
    await page.setContent(`<body style="margin: 16px">${svg}</body>`);
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      expect(await readingFaults(page, 'body > svg', 'body')).toEqual([]);
    }
  });
});
