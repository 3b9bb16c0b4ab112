/**
 * Readability of every chart at three widths, in each state, folded and whole, measured by text
 * boxes in a real browser.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { inspectPage } from '@mcp-actors/inspector';
import type { InspectedPage } from '@mcp-actors/inspector';
import { charts } from '../../../../src/charts.ts';
import type { StateMeta } from '../../../../src/machines/names.ts';
import { nodesOf } from '../../../../test/machines/every-machine.ts';
import { needsChromium, newPage } from '../../../../test/browser/chromium.ts';
import { open } from './inspected.ts';
import { drawnCharts, readingFaults } from './layout.ts';

const widths = [1440, 1024, 390];
const names = Object.keys(charts) as (keyof typeof charts)[];

/** Names of the states a machine may be in. */
const statesOf = (machine: AnyStateMachine) => {
  const nodes = nodesOf(machine.root);
  const isGroup = (path: readonly string[]) =>
    (nodes.find((node) => node.path.join() === path.join())?.meta as StateMeta | undefined)
      ?.isGroup === true;
  return nodes
    .filter(({ type }) => type === 'atomic' || type === 'final')
    .map(({ path }) => path.filter((_, at) => !isGroup(path.slice(0, at + 1))).join('.'));
};

/** Actor id that represents a machine in one of its states. */
const idOf = (name: string, state: string) => `${name} in ${state}`;

/** Shows a connection with an actor for each state of these machines. */
function show(shown: readonly (keyof typeof charts)[], { watcher }: InspectedPage): void {
  const level = { count: 0, max: 1 };
  const dump = {
    ...({ side: 'host', id: 'all', name: 'all', state: 'ready.stable' } as const),
    ...{ ageMs: 1, quietMs: 1, sinceMs: 1, attempt: 0, launches: 1 },
    ...{ lists: [], calls: [], pending: [] },
    queues: { running: level, waiting: level, pending: level, outboundBytes: level, holds: [] },
    actors: shown.flatMap((chart) =>
      statesOf(charts[chart]).map((state) => {
        const id = idOf(chart, state);
        return { id, chart, kind: 'machine', status: 'active', state } as const;
      }),
    ),
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

/** Opens a page with an actor for each state of these machines. */
async function shownPage(shown: readonly (keyof typeof charts)[]) {
  const inspected = await inspectPage();
  onTestFinished(() => inspected.close());
  show(shown, inspected);
  return await open(inspected.url);
}

/**
 * Several charts per page, because opening a page costs more than drawing. A page shows at most a
 * hundred machines.
 */
const size = Math.ceil(names.length / 3);
const parts = [0, 1, 2].map((part) => names.slice(part * size, (part + 1) * size));

describe('charts on the page', () => {
  test.for(parts)(
    'are readable in each state, folded and whole, at each width: %s',
    async (shown, context) => {
      needsChromium(context);
      const { page, faults } = await shownPage(shown);
      const tabOf = (name: keyof typeof charts, state: string) =>
        idOf(name, state).replaceAll(/[. ]/g, '-');
      const readable = shown.flatMap((name) =>
        statesOf(charts[name]).map((state) => ({ id: tabOf(name, state), active: 1, faults: [] })),
      );
      const whole = shown.map((name) => {
        const [state = ''] = statesOf(charts[name]);
        const states = nodesOf(charts[name].root).length;
        return { id: tabOf(name, state), states, faults: [] };
      });
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 });
        const folded = await drawnCharts(page);
        expect(folded).toMatchObject(readable);
        await page.locator('#whole').click();
        const drawn = await drawnCharts(
          page,
          whole.map(({ id }) => id),
        );
        expect(drawn).toMatchObject(whole);
        await page.locator('#whole').click();
      }
      expect(faults).toEqual([]);
    },
  );

  test('keep states unfolded by hand, with mouse or keyboard', async (context) => {
    needsChromium(context);
    const { page } = await shownPage(['session']);
    const tab = (state: string) => page.locator(`#tab-session-in-${state}`);
    await tab('uninitialized').click();
    const draining = page.locator('.drawing [data-state=draining]');
    expect(await draining.getAttribute('aria-expanded')).toBe('false');
    expect(await page.locator('.drawing .s-draining_idle').count()).toBe(0);
    await draining.click();
    await page.locator('.drawing .s-draining_idle').waitFor();
    await draining.focus();
    await page.keyboard.press('Enter');
    await page.locator('.drawing .s-draining_idle').waitFor({ state: 'detached' });
    // An active state can be folded as well; its parent is highlighted instead.
    await page.locator('.drawing [data-state=open]').click();
    await page.locator('.drawing .node.s-open.active').waitFor();
    await page.keyboard.press('w');
    await page.locator('.drawing .s-draining_idle_settling').waitFor();
  });

  test('docs show readable charts', async (context) => {
    needsChromium(context);
    const page = await newPage();
    const pictures = names.map((name) => {
      const file = new URL(`../../../../docs/charts/${name}.svg`, import.meta.url);
      const svg = readFileSync(file, 'utf8').replace(
        '<svg ',
        '<svg style="max-width: 100%; height: auto" ',
      );
      return `<div id="${name}">${svg}</div>`;
    });
    // Width that a code forge leaves for content on a phone.
    await page.setContent(`<body style="margin: 16px">${pictures.join('')}</body>`);
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      for (const name of names) {
        expect(await readingFaults(page, `#${name} > svg`, `#${name}`), name).toEqual([]);
      }
    }
  });
});
