/** Layout of the page at three widths, measured by element boxes in a real browser. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { reapServers } from '../../../../test/e2e/server-process.ts';
import { needsChromium } from '../../../../test/browser/chromium.ts';
import { inspected, inspectedExample, open } from './inspected.ts';
import { boxOf, overflowing, paleTexts } from './layout.ts';

const wide = { width: 1440, height: 900 };
const tablet = { width: 900, height: 900 };
const phone = { width: 390, height: 844 };
const sizes = [wide, tablet, phone];

describe('inspector page layout', () => {
  afterEach(reapServers);

  /** A session with a call waiting for ten answers, known roots, and one failed call. */
  async function busy() {
    const { url, server } = await inspected(inspectedExample);
    const { page, faults } = await open(url, { viewport: wide });
    await server.initialize({ elicitation: { form: {} }, roots: {} });
    const query = await server.heard('roots/list');
    const uri = `file:///home/ada/${'a-long-name/'.repeat(12)}`;
    server.send({ id: query['id'], result: { roots: [{ uri }, { uri: 'http://else.example' }] } });
    server.send({ id: 6, method: 'tools/call', params: { name: `no_${'such_'.repeat(20)}tool` } });
    const days = Array.from({ length: 10 }, (_, at) => `May ${at + 1}`);
    const params = { name: 'book_tables', arguments: { days } };
    server.send({ id: 7, method: 'tools/call', params });
    await page.locator('#pending li').nth(9).waitFor();
    await page.locator('#roots li').nth(1).waitFor();
    await page.locator('#rows .fault').waitFor();
    return { page, server, faults };
  }

  const ids = (page: Page) =>
    page.locator('.panel [id], .panel').evaluateAll((all) => all.map(({ id }) => id));

  test('puts the timeline above the fold at 1440 × 900, beside the chart', async (context) => {
    needsChromium(context);
    const { page, faults } = await busy();
    const [rows, chart] = [await boxOf(page, '#rows'), await boxOf(page, '.drawing svg')];
    expect(rows.bottom).toBeLessThanOrEqual(wide.height);
    expect(rows.bottom - rows.top).toBeGreaterThan(400);
    expect(chart.left).toBeGreaterThanOrEqual(rows.right);
    expect(chart.top).toBeLessThan(rows.bottom);
    expect(chart.bottom).toBeLessThanOrEqual(wide.height);
    expect(await page.evaluate('document.documentElement.scrollHeight')).toBe(wide.height);
    // Pending requests are above the fold, too.
    expect((await boxOf(page, '#pending li:first-child')).bottom).toBeLessThan(wide.height);
    // The selected event opens below the rows, which stay in place.
    await page.locator('#rows .fault').click();
    const event = await boxOf(page, '#event');
    expect(event.top).toBeGreaterThanOrEqual((await boxOf(page, '#rows')).bottom);
    expect(event.bottom).toBeLessThanOrEqual(wide.height);
    expect(faults).toEqual([]);
  });

  test('hides empty panels', async (context) => {
    needsChromium(context);
    const { url, server } = await inspected(inspectedExample);
    const { page } = await open(url, { viewport: wide });
    const optional = ['event', 'pending', 'calls', 'tasks', 'queues', 'roots', 'sessions'];
    const shown = async () => (await ids(page)).filter((id) => optional.includes(id));
    await page.locator('#state', { hasText: 'uninitialized' }).waitFor();
    expect(await shown()).toEqual([]);
    await server.initialize({ elicitation: { form: {} } });
    const params = { name: 'book_tables', arguments: { days: ['May 1'] } };
    server.send({ id: 7, method: 'tools/call', params });
    await page.locator('#pending li').waitFor();
    expect(await shown()).toEqual(['pending', 'calls', 'queues']);
    const { id } = await server.heard('elicitation/create');
    server.send({ id, result: { action: 'decline' } });
    await page.locator('#pending').waitFor({ state: 'detached' });
    expect(await shown()).toEqual([]);
    const chart = await boxOf(page, '#charts');
    expect((await boxOf(page, '#panels .panel')).top - chart.bottom).toBeLessThan(20);
  });

  test('stacks everything in one column below 800 pixels, ordered by importance', async (context) => {
    needsChromium(context);
    const { page } = await busy();
    const order = ['#headline', '#timeline', '#charts', '#pending', '#calls', '#roots'];
    for (const width of [799, phone.width]) {
      await page.setViewportSize({ width, height: 844 });
      const boxes = await Promise.all(order.map((each) => boxOf(page, each)));
      for (const [at, box] of boxes.entries()) {
        expect(box.top).toBeGreaterThanOrEqual(boxes[at - 1]?.bottom ?? 0);
        expect(box.left).toBeLessThan(40);
        expect(box.right).toBeGreaterThan(width - 40);
      }
      // Above the fold: the reason for waiting, and the first rows.
      expect(boxes[1]?.top).toBeLessThan(400);
    }
    await page.setViewportSize({ width: 800, height: 844 });
    const [rows, chart] = [await boxOf(page, '#rows'), await boxOf(page, '.drawing svg')];
    expect(chart.left).toBeGreaterThanOrEqual(rows.right);
  });

  test('works fully at a width of 390 pixels', async (context) => {
    needsChromium(context);
    const { page } = await busy();
    await page.setViewportSize(phone);
    await page.locator('#rows .fault').click();
    await page.locator('#event pre').waitFor();
    await page.locator('#sequence').click();
    await page.locator('#rows .item').first().waitFor();
    await page.locator('#tab-roots').click();
    await page.locator('#chart-roots .s-known.active').waitFor();
    await page.locator('#whole').click();
    await page.locator('#chart-roots .s-querying_stale').waitFor();
    for (const button of await page.locator('button:visible').all()) {
      expect((await button.boundingBox())?.height).toBeGreaterThanOrEqual(18);
    }
  });

  test.for(sizes)('overflows nowhere at $width × $height', async (viewport, context) => {
    needsChromium(context);
    const { page } = await busy();
    await page.setViewportSize(viewport);
    expect(await overflowing(page)).toEqual([]);
    await page.locator('#rows .fault').click();
    await page.locator('#event').waitFor();
    expect(await overflowing(page)).toEqual([]);
    await page.keyboard.press('v');
    await page.locator('#rows .item').first().waitFor();
    expect(await overflowing(page)).toEqual([]);
  });

  test.for(['light', 'dark'] as const)(
    'keeps text contrast readable in %s',
    async (colorScheme, context) => {
      needsChromium(context);
      const { page } = await busy();
      await page.emulateMedia({ colorScheme });
      await page.locator('#rows .fault').click();
      await page.locator('#event').waitFor();
      expect(await paleTexts(page)).toEqual([]);
    },
  );
});
