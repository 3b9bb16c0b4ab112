/**
 * First impression of the page: before any session, in the middle of a hang, and by its colours.
 */
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import { createMcpServer, defineForm, defineTool } from 'mcp-actors';
import { openServers } from 'mcp-actors/client';
import { inspectPage } from '@mcp-actors/inspector';
import { serveHttp } from 'mcp-actors/serve';
import { scriptedConversation, toolCall } from 'mcp-actors/testing';
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { asking } from '../../../../test/contract/asking.ts';
import { reapServers, workspaceCommand } from '../../../../test/e2e/server-process.ts';
import { ask as askModern } from '../../../http/test/modern/modern-client.ts';
import { needsChromium } from '../../../../test/browser/chromium.ts';
import { inspected, open } from './inspected.ts';

const oddServer = fileURLToPath(new URL('../../../client/test/odd-server.mjs', import.meta.url));

/** Violations that axe finds on a page. */
async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(`${axe.source}; void 0`);
  return page.evaluate(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ target }) => target).join()))`,
  );
}

describe('inspector page', () => {
  afterEach(reapServers);

  const row = (page: Page, text: string) => page.locator('#rows .row', { hasText: text });
  const why = (page: Page) => page.locator('#why').textContent();

  test('shows where clients can connect before the first session', async (context) => {
    needsChromium(context);
    const { url } = await inspected([...workspaceCommand, '--http', '0', '--inspect']);
    const { page, faults } = await open(url);
    const text = await page.locator('#empty').textContent();
    expect(text).toMatch(/No session yet.*Clients can connect at http:\/\/127\.0\.0\.1:\d+\/mcp/s);
    expect(await violations(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  test('opened during a hang, shows unanswered requests and their later responses', async (context) => {
    needsChromium(context);
    const shown = await inspectPage();
    onTestFinished(() => shown.close());
    const { ask } = asking();
    const server = createMcpServer({ name: 'watched', version: '1', tools: [ask] });
    const { session, peer } = scriptedConversation(server, { watchers: [shown.watcher] });
    onTestFinished(() => session.shutdown('it leaves'));
    await peer.handshake({ clientInfo: { name: 'editor', version: '1' } });
    peer.send(toolCall(7, 'ask', { method: 'custom/question' }));
    const question = await peer.request('custom/question');
    const { page, faults } = await open(shown.url);
    await row(page, 'tools/call ask').filter({ hasText: 'request' }).waitFor();
    await row(page, 'custom/question').waitFor();
    expect(await page.title()).toBe('waiting: editor · mcp-actors');
    // A second viewer sees the same.
    const { page: second } = await open(shown.url);
    await row(second, 'custom/question').waitFor();
    expect(await violations(page)).toEqual([]);
    peer.answer(question, {});
    const answer = row(page, 'custom/question').filter({ hasText: 'result' });
    await answer.filter({ hasText: /result · \d/ }).click();
    await page.locator('#event .link', { hasText: 'custom/question' }).click();
    await page.locator('#event', { hasText: 'the event predates this page' }).waitFor();
    await page.locator('#why', { hasText: 'Nothing is pending' }).waitFor();
    expect(await page.title()).toBe('idle: editor · mcp-actors');
    await second.locator('#filter').fill('nothing of all this');
    await second.locator('#rows[role=group]').waitFor();
    expect(await violations(second)).toEqual([]);
    expect(faults).toEqual([]);
  });

  test('switches from a calm session to a waiting one, and lists waiting ones first', async (context) => {
    needsChromium(context);
    const shown = await inspectPage();
    onTestFinished(() => shown.close());
    const { ask } = asking();
    const server = createMcpServer({ name: 'watched', version: '1', tools: [ask] });
    const join = async (name: string) => {
      const { session, peer } = scriptedConversation(server, { watchers: [shown.watcher] });
      onTestFinished(() => session.shutdown('it leaves'));
      await peer.handshake({ clientInfo: { name, version: '1' } });
      return { session, peer };
    };
    const first = await join('first');
    const { page } = await open(shown.url);
    await page.locator('#facts', { hasText: 'first 1' }).waitFor();
    const second = await join('second');
    second.peer.send(toolCall(7, 'ask', { method: 'custom/question' }));
    await page.locator('#facts', { hasText: 'second 1' }).waitFor();
    expect(await page.locator('#sessions .client').allTextContents()).toEqual([
      ...['2: second', '1: first'],
    ]);
    await page.locator('#found', { hasText: '2 of 2 sessions, 1 waiting' }).waitFor();
    // A regular end is not shown as a failure.
    first.session.shutdown('it leaves');
    const ended = page.locator('#sessions button', { hasText: '1: first closed' });
    await ended.waitFor();
    expect(await ended.getAttribute('data-mood')).toBe('ended');
  });

  test('names the client and the method of a request without a session', async (context) => {
    needsChromium(context);
    const shown = await inspectPage();
    onTestFinished(() => shown.close());
    const form = defineForm({ type: 'object', properties: { people: { type: 'integer' } } });
    const book = defineTool({
      name: 'book',
      description: 'Books',
      handler: async (_, { elicit }) =>
        (await elicit({ message: 'For how many?', schema: form })).action,
    });
    const server = createMcpServer({ name: 'watched', version: '1', tools: [book] });
    const options = { port: 0, session: { watchers: [shown.watcher] } };
    const serving = await serveHttp(server, options);
    onTestFinished(() => serving.close(0));
    await askModern(
      serving.url,
      'tools/call',
      { name: 'book', arguments: {} },
      {
        capabilities: { elicitation: {} },
      },
    );
    const { page, faults } = await open(shown.url);
    await page.locator('#calls li').waitFor();
    expect(await page.locator('#calls li').textContent()).toMatch(
      /tools\/call book.*from \S+ \S+.*with 1 answer to elicitation\/create "For how many\?", sent/,
    );
    expect(await why(page)).toMatch(
      /^Waiting for \S+ to answer what tools\/call book has asked, in a retry: elicitation\/create "For how many\?"\.$/,
    );
    expect(await page.locator('#facts').textContent()).not.toContain('client unknown');
    expect(faults).toEqual([]);
  });

  test('marks a failed server as failed, but not a server that refuses the era probe', async (context) => {
    needsChromium(context);
    const shown = await inspectPage();
    onTestFinished(() => shown.close());
    const { page } = await open(shown.url);
    await page.locator('#empty').waitFor();
    const config = {
      mcpServers: {
        small: { command: process.execPath, args: [oddServer, 'plain'] },
        wrong: { command: process.execPath, args: ['-e', 'process.exitCode = 3'] },
      },
    };
    const servers = openServers(config, {
      ...{ watchers: [shown.watcher], cacheFolder: false, report: () => {}, restart: 'none' },
    });
    onTestFinished(() => servers.close());
    const wrong = page
      .locator('#sessions button', { hasText: 'wrong' })
      .filter({ hasText: 'failed' });
    await wrong.waitFor();
    expect(await wrong.getAttribute('data-mood')).toBe('failed');
    await page.locator('#sessions button', { hasText: 'small' }).click();
    await row(page, 'server/discover').filter({ hasText: 'refused: legacy' }).waitFor();
    expect(await page.locator('#rows .fault').count()).toBe(0);
  });

  test('hides keyboard shortcuts on touch screens', async (context) => {
    needsChromium(context);
    const { url } = await inspected([...workspaceCommand, '--inspect']);
    const { page } = await open(url, {
      ...{ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
    });
    await page.locator('footer .note').waitFor();
    expect(await page.locator('.keys').isVisible()).toBe(false);
  });
});
