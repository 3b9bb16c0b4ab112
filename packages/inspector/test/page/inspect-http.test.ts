/** HTTP sessions on the page: state, streams, and large numbers of them. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { inspectPage } from '@mcp-actors/inspector';
import { serveHttp } from 'mcp-actors/serve';
import { gate } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { reapServers, workspaceCommand } from '../../../../test/e2e/server-process.ts';
import { begin } from '../../../http/test/raw-client.ts';
import { needsChromium } from '../../../../test/browser/chromium.ts';
import { inspected, open } from './inspected.ts';

describe('inspector page', () => {
  async function served() {
    const held = gate();
    const wait = defineTool({
      name: 'wait',
      description: 'Says something and waits.',
      handler: async (_, { log, signal }) => {
        log.error('begun');
        await held.pass(signal);
        return 'done';
      },
    });
    const server = createMcpServer({ name: 'watched', version: '1', tools: [wait], logging: {} });
    const shown = await inspectPage();
    onTestFinished(() => shown.close());
    const session = { watchers: [shown.watcher] };
    const serving = await serveHttp(server, { port: 0, session });
    onTestFinished(() => serving.close(0));
    return { page: shown.url, url: serving.url, held };
  }

  test('shows the state of an HTTP session and its streams', async (context) => {
    needsChromium(context);
    const { page: address, url, held } = await served();
    const session = await begin(url);
    const answer = await session.call('wait', {}, 7);
    await held.arrived();
    await session.get();
    const { page, faults } = await open(address);
    await page.locator('#streams li', { hasText: 'POST #7' }).waitFor();
    await page.locator('#streams li', { hasText: 'GET' }).waitFor();
    const text = await page.locator('section', { has: page.locator('#streams') }).textContent();
    expect(text).toContain(`Session ${session.id.slice(0, 8)}…: active, 2 streams open`);
    expect(await page.content()).not.toContain(session.id);
    await page.locator('[role=tab]', { hasText: 'http' }).filter({ hasText: 'active' }).waitFor();
    await answer.body?.cancel();
    await page.locator('#streams li', { hasText: 'POST #7' }).filter({ hasText: 'cut' }).waitFor();
    await expect
      .poll(() => page.locator('#why').textContent())
      .toBe('Waiting for raw to come back to a stream that was cut.');
    held.release();
    expect(faults).toEqual([]);
  });

  test('shows the newest and the waiting ones of many sessions, and finds them by search', async (context) => {
    needsChromium(context);
    const { page: address, url, held } = await served();
    const oldest = await begin(url);
    for (let at = 0; at < 119; at++) await begin(url);
    const { page } = await open(address);
    await page.locator('#found', { hasText: '100 of 120 sessions' }).waitFor();
    const answer = await oldest.call('wait');
    await held.arrived();
    await page.locator('#sessions button[data-mood=working]').waitFor();
    await page.locator('#search').fill(`RAW ${oldest.id.slice(0, 8)}`);
    await expect.poll(() => page.locator('#sessions button').count()).toBeLessThanOrEqual(2);
    expect(await page.locator('#sessions button[data-mood=working]').count()).toBe(1);
    held.release();
    await answer.text();
  });

  test('lists the HTTP sessions of mcp-actors serve --inspect with their activity', async (context) => {
    needsChromium(context);
    onTestFinished(reapServers);
    const { server, url: address } = await inspected([
      ...[...workspaceCommand, '--http', '0', '--inspect'],
      ...['--log-level', 'info'],
    ]);
    const { details } = await server.log.find(({ event }) => event === 'http.listening');
    const url = new URL((details as { readonly url: string }).url);
    const [, second] = [await begin(url), await begin(url)];
    const { page, faults } = await open(address);
    await expect.poll(() => page.locator('#sessions button').count()).toBe(2);
    await page.locator('#sessions button', { hasText: '2: raw' }).click();
    await (await second.call('workspace_info')).text();
    await page.locator('body', { hasText: 'workspace_info' }).waitFor();
    await page
      .locator('[role=tab]', { hasText: 'http' })
      .filter({ hasText: /active|idle/ })
      .waitFor();
    expect(await page.content()).not.toContain(second.id);
    expect(faults).toEqual([]);
  });
});
