/**
 * Three situations with a real server and a real browser. `npm run lab -- screenshots` takes the
 * docs' pictures from here.
 */
import { afterEach, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { reapServers } from '../../../../test/e2e/server-process.ts';
import { needsChromium } from '../../../../test/browser/chromium.ts';
import { keepRecord } from './screenshots.ts';
import { inspected, inspectedCommand, inspectedExample, open } from './inspected.ts';

const { SCREENSHOTS: folder } = process.env;
const viewport = { viewport: { width: 1440, height: 900 } };

async function picture(page: Page, name: string): Promise<void> {
  if (folder === undefined) return;
  await page.screenshot({ path: `${folder}/${name}.png` });
  const shown = await page
    .locator('[id^=chart-]')
    .evaluateAll((charts) => charts.map(({ id }) => id));
  keepRecord(
    name,
    shown.map((id) => id.replace('chart-', '')),
  );
}

describe('inspector page shows at a glance', () => {
  afterEach(reapServers);
  const shown = (page: Page, id: string) => page.locator(`#${id}`);

  test('a session before the handshake', async (context) => {
    needsChromium(context);
    const { url } = await inspected(inspectedCommand);
    const { page, faults } = await open(url, viewport);
    await shown(page, 'state').filter({ hasText: 'uninitialized' }).waitFor();
    expect(await shown(page, 'why').textContent()).toContain('no initialize has come yet');
    await page.locator('#chart-session .node.s-open_lifecycle_uninitialized.active').waitFor();
    expect(faults).toEqual([]);
  });

  test('a roots query whose answer is outdated before it arrives', async (context) => {
    needsChromium(context);
    const { url, server } = await inspected(inspectedCommand);
    const { page, faults } = await open(url, viewport);
    await server.initialize({ roots: { listChanged: true } });
    const query = await server.heard('roots/list');
    server.send({ method: 'notifications/roots/list_changed' });
    // The chart follows the current wait.
    await page.locator('#chart-roots .s-querying_stale.active').waitFor();
    expect(await shown(page, 'why').textContent()).toBe(
      'Waiting for raw to answer roots/list. Its list has changed since it was asked, so it will be asked again.',
    );
    expect(await page.locator('#chart-roots .transition.last').getAttribute('class')).toContain(
      't-querying_fresh--querying_stale',
    );
    await page.locator('#rows .transition', { hasText: 'querying.fresh → querying.stale' }).click();
    await page.locator('#event .link', { hasText: 'notifications/roots/list_changed' }).waitFor();
    await picture(page, 'inspect-stale-roots');
    // The outdated answer is discarded and the query repeated.
    server.send({ id: query['id'], result: { roots: [] } });
    await page.locator('#chart-roots .s-querying_fresh.active').waitFor();
    expect(faults).toEqual([]);
  });

  test('ten unanswered elicitations, in light and dark mode', async (context) => {
    needsChromium(context);
    const { url, server } = await inspected(inspectedExample);
    const { page, faults } = await open(url, {
      ...viewport,
      colorScheme: 'light',
    });
    await server.initialize({ elicitation: { form: {} } });
    const days = Array.from({ length: 10 }, (_, at) => `May ${at + 1}`);
    const params = { name: 'book_tables', arguments: { days } };
    server.send({ id: 7, method: 'tools/call', params });
    await page.locator('#pending li').nth(9).waitFor();
    expect(await page.locator('#pending li').count()).toBe(10);
    expect(await shown(page, 'why').textContent()).toBe(
      'Waiting for raw to answer 10 requests: elicitation/create.',
    );
    expect(await page.locator('#calls li').textContent()).toMatch(
      /^tools\/call book_tables #7for .*waiting for the client: 10 × elicitation\/create, sent .*, times out in 9 min/,
    );
    await page.locator('#rows .out.request').first().click();
    await page.locator('#event pre', { hasText: 'A table for May 1' }).waitFor();
    const back = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const light = await back();
    await picture(page, 'inspect-ten-elicitations');
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await back()).not.toBe(light);
    await picture(page, 'inspect-ten-elicitations-dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.keyboard.press('Escape');
    await page.keyboard.press('v');
    await page.locator('#rows .item', { hasText: 'elicitation/create' }).nth(9).waitFor();
    await picture(page, 'inspect-sequence');
    expect(faults).toEqual([]);
  });
});
