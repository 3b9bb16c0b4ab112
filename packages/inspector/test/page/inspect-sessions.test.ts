/** Several sessions on one page, and the display of ended ones. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { createMcpServer } from 'mcp-actors';
import { inspectPage } from '@mcp-actors/inspector';
import { scriptedConversation, toolCall } from 'mcp-actors/testing';
import { asking } from '../../../../test/contract/asking.ts';
import { reapServers } from '../../../../test/e2e/server-process.ts';
import { needsChromium } from '../../../../test/browser/chromium.ts';
import { boxOf, overflowing } from './layout.ts';
import { inspected, inspectedCommand, inspectedExample, open } from './inspected.ts';

describe('inspector page', () => {
  afterEach(reapServers);

  const held: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const each of held.splice(0).reverse()) await each[Symbol.asyncDispose]();
  });

  async function serving() {
    const page = await inspectPage();
    const { ask } = asking();
    const server = createMcpServer({ name: 'watched', version: '1', tools: [ask] });
    const join = async (name: string) => {
      const { session, peer } = scriptedConversation(server, { watchers: [page.watcher] });
      await peer.handshake({ clientInfo: { name, version: '1' } });
      const close = async () => {
        if (session.actor.getSnapshot().status === 'active') session.shutdown('it leaves');
        await session.closed;
      };
      held.push({ [Symbol.asyncDispose]: close });
      return { peer, close };
    };
    held.push(page);
    return { url: page.url, join };
  }

  const entry = (page: Page, name: string) => page.locator('#sessions button', { hasText: name });
  const shown = (page: Page) => page.locator('#sessions [aria-current=true]').textContent();

  test('selects the waiting session, marks waiting ones, and shows each on click', async (context) => {
    needsChromium(context);
    const { url, join } = await serving();
    await join('first');
    const waits = await join('second');
    await join('third');
    waits.peer.send(toolCall(7, 'ask', { method: 'custom/question' }));
    const question = await waits.peer.request('custom/question');
    const { page, faults } = await open(url);
    await page.locator('#pending li', { hasText: 'custom/question' }).waitFor();
    expect(await shown(page)).toMatch(/^2: second waiting \d/);
    expect(await entry(page, 'third').textContent()).toBe('3: third idle');
    expect(await entry(page, 'second').getAttribute('data-mood')).toBe('waiting');
    expect(await entry(page, 'first').getAttribute('data-mood')).toBe('idle');
    await page.keyboard.press('s');
    // Waiting sessions come first, regardless of age.
    expect(await page.locator('#sessions .client').allTextContents()).toEqual([
      ...['2: second', '1: first', '3: third'],
    ]);
    await expect.poll(() => shown(page)).toBe('1: first idle');
    await page.locator('#pending').waitFor({ state: 'detached' });
    await entry(page, 'third').click();
    await expect.poll(() => shown(page)).toBe('3: third idle');
    waits.peer.answer(question, {});
    await entry(page, 'second').filter({ hasText: 'idle' }).waitFor();
    expect(faults).toEqual([]);
  });

  test('keeps more ended sessions than the server does, and the one selected by hand', async (context) => {
    needsChromium(context);
    const { url, join } = await serving();
    const first = await join('first');
    const { page, faults } = await open(url);
    await page.locator('#state', { hasText: 'rootsKnown' }).waitFor();
    for (const round of [1, 2]) {
      const short = [];
      for (let count = 0; count < 10; count++) short.push(await join(`short-${round}-${count}.`));
      await entry(page, `short-${round}-9.`).waitFor();
      // All at once: every end is delivered, although the server remembers fewer.
      for (const each of short) await each.close();
      await expect
        .poll(() => page.locator('#sessions button', { hasText: 'closed' }).count())
        .toBe(round * 10);
    }
    expect(await shown(page)).toMatch(/^1: first/);
    await entry(page, 'short-1-0.').click();
    await page.locator('#why', { hasText: 'The session is closed: ' }).waitFor();
    await page.locator('#chart-session .s-closed.active').waitFor();
    await page.locator('#rows .transition', { hasText: 'closed' }).waitFor();
    await join('last');
    await entry(page, 'last').waitFor();
    await first.close();
    // A session selected by hand stays selected.
    await entry(page, 'first').filter({ hasText: 'closed' }).waitFor();
    expect(await shown(page)).toMatch(/short-1-0\./);
    expect(faults).toEqual([]);
  });

  test.for([1440, 900, 390])('fits many clients with long names at %i', async (width, context) => {
    needsChromium(context);
    const { url, join } = await serving();
    const long = 'a-client-with-a-name-that-does-not-end-'.repeat(8);
    for (let count = 0; count < 20; count++) await join(`client-${count}`);
    const ended = await join('ended');
    await join(long);
    await ended.close();
    const { page, faults } = await open(url, {
      viewport: { width, height: 900 },
    });
    await entry(page, 'a-client').click();
    await page.locator('#why', { hasText: 'a-client' }).waitFor();
    expect(await overflowing(page)).toEqual([]);
    // Ended sessions come last; the selected one is scrolled into view.
    expect(await page.locator('#sessions button').last().textContent()).toBe('21: ended closed');
    const [list, chosen] = [
      await boxOf(page, '#sessions'),
      await boxOf(page, '#sessions [aria-current=true]'),
    ];
    expect(chosen.top).toBeGreaterThanOrEqual(list.top);
    expect(chosen.bottom).toBeLessThanOrEqual(list.bottom);
    expect((await boxOf(page, '#timeline')).top).toBeLessThan(450);
    expect(faults).toEqual([]);
  });

  test('switches from an ended session to an open one unless the session was selected by hand', async (context) => {
    needsChromium(context);
    const { url, join } = await serving();
    const first = await join('first');
    const { page } = await open(url);
    await join('second');
    await entry(page, 'second').waitFor();
    expect(await shown(page)).toMatch(/first/);
    await first.close();
    await expect.poll(() => shown(page)).toMatch(/second/);
    expect(await entry(page, 'first').textContent()).toMatch(/closed$/);
  });

  test('shows why a session closed and its last state after its server stopped', async (context) => {
    needsChromium(context);
    const { url, server } = await inspected(inspectedExample);
    const { page, faults } = await open(url);
    await server.initialize({ elicitation: { form: {} } });
    const params = { name: 'book_tables', arguments: { days: ['May 1'] } };
    server.send({ id: 7, method: 'tools/call', params });
    await page.locator('#pending li', { hasText: 'elicitation/create' }).waitFor();
    server.child.stdin.end();
    await server.exit;
    await page.locator('#connection[data-connection=ended]').waitFor();
    expect(await page.locator('#connection').textContent()).toBe(
      'server stopped; showing the last known state',
    );
    expect(await page.locator('#state').textContent()).toBe('closed');
    expect(await page.locator('#why').textContent()).toBe(
      'The session is closed: the client closed the input.',
    );
    expect(await page.locator('#facts').textContent()).toMatch(/was rootsKnown, open for /);
    await page.locator('#chart-session .s-closed.active').waitFor();
    expect(await page.locator('#panels > .note').textContent()).toBe('State before the end:');
    expect(await page.locator('#pending li').textContent()).toContain('elicitation/create');
    expect(await page.locator('#calls li').textContent()).toContain('book_tables #7');
    const last = await page.locator('#rows .row').last().textContent();
    expect(last).toMatch(/session: .* → closed/);
    // After a goodbye the page does not reconnect, and everything seen so far stays available.
    await page.locator('#rows .fault', { hasText: 'book_tables' }).click();
    await page.locator('#event pre', { hasText: 'TRANSPORT_CLOSED' }).waitFor();
    expect(faults).toEqual([]);
  });

  test('reports a server that disappeared without a goodbye as unreachable', async (context) => {
    needsChromium(context);
    const { url, server } = await inspected(inspectedCommand);
    const { page } = await open(url);
    await server.initialize({});
    await page.locator('#state', { hasText: 'rootsKnown' }).waitFor();
    server.child.kill('SIGKILL');
    await page.locator('#connection[data-connection=lost]').waitFor();
    expect(await page.locator('#connection').textContent()).toBe(
      'server unreachable; showing the last known state',
    );
    expect(await page.locator('#state').textContent()).toBe('rootsKnown');
  });
});
