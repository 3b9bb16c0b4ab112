/**
 * Using the page in a real browser. Sessions run in this process, so that their subscribers can be
 * counted.
 */
import { afterEach, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { createMcpServer, defineTool } from 'mcp-actors';
import type { Tool, WatchedSession } from 'mcp-actors';
import { inspectPage } from '@mcp-actors/inspector';
import type { InspectedPage } from '@mcp-actors/inspector';
import { scriptedConversation, enveloped, testClient, gate } from 'mcp-actors/testing';
import type { TestClient } from 'mcp-actors/testing';
import { systemClock } from '../../../../src/actors/clock.ts';
import { SessionlessTasks } from '../../../../src/server/task-resumer.actor.ts';
import { TaskWorker } from '../../../tasks/src/task-worker.ts';
import { MemoryTaskStore } from '../../../tasks/test/memory-task-store.ts';
import { needsChromium } from '../../../../test/browser/chromium.ts';
import { open } from './inspected.ts';

const echo = defineTool({
  name: 'echo',
  description: 'Says what it is told',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  handler: ({ text = '' }) => text,
});

describe('inspector page', () => {
  const held: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const each of held.splice(0).reverse()) await each[Symbol.asyncDispose]();
  });

  /** Number of subscribers of each session. */
  const listening = { traffic: 0, machines: 0 };

  const counted = (page: InspectedPage) => (session: WatchedSession) => {
    const { traffic, transitions } = session;
    const counting = (what: keyof typeof listening, end: () => void) => {
      listening[what] += 1;
      return () => {
        listening[what] -= 1;
        end();
      };
    };
    page.watcher({
      ...session,
      traffic: { listen: (listener) => counting('traffic', traffic.listen(listener)) },
      transitions: { listen: (listener) => counting('machines', transitions.listen(listener)) },
    });
  };

  async function start(
    tools: readonly Tool[] = [echo],
  ): Promise<{ inspected: InspectedPage; client: TestClient }> {
    const inspected = await inspectPage();
    held.push(inspected);
    const server = createMcpServer({ name: 'watched', version: '1', tools });
    const client = await testClient(server, {
      roots: ['file:///home/ada'],
      watchers: [counted(inspected)],
    });
    held.push(client);
    return { inspected, client };
  }

  const rows = (page: Page) => page.locator('#rows .row');
  const live = async (url: string) => open(url);

  test('subscribes to nothing before it is opened and after it is closed', async (context) => {
    needsChromium(context);
    const { inspected, client } = await start();
    await client.callTool('echo', { text: 'unheard' });
    expect(listening).toEqual({ traffic: 0, machines: 0 });
    const { page, faults } = await live(inspected.url);
    expect(listening).toEqual({ traffic: 1, machines: 1 });
    const { page: second } = await live(inspected.url);
    expect(listening).toEqual({ traffic: 1, machines: 1 });
    await second.close();
    await client.callTool('echo', { text: 'heard' });
    await rows(page).filter({ hasText: 'tools/call' }).first().waitFor();
    await page.close();
    await expect.poll(() => listening).toEqual({ traffic: 0, machines: 0 });
    expect(faults).toEqual([]);
  });

  test('filters rows and shows a frame with its response', async (context) => {
    needsChromium(context);
    const { inspected, client } = await start();
    const { page, faults } = await live(inspected.url);
    const hostile = '<img src=x onerror=alert(1)>';
    await client.callTool('echo', { text: hostile, password: 'hunter2' });
    await client.session.ping();
    const call = rows(page).filter({ hasText: 'tools/call' }).filter({ hasText: 'request' });
    await call.click();
    const frame = page.locator('#event pre');
    await frame.filter({ hasText: hostile }).waitFor();
    expect(await frame.textContent()).toContain('"password": "[redacted]"');
    expect(await page.locator('img').count()).toBe(0);
    // `C` jumps to the response and back to the request.
    await page.keyboard.press('c');
    await page.locator('#event dd', { hasText: 'to the client' }).waitFor();
    await page.locator('#event .link').click();
    await page.locator('#event dd', { hasText: 'from the client' }).waitFor();

    await page.keyboard.press('/');
    await page.keyboard.type('ping');
    await expect.poll(() => rows(page).count()).toBe(2);
    await page.locator('input[value=in]').uncheck();
    await expect.poll(() => rows(page).count()).toBe(1);
    await page.locator('#filter').fill('-ping -tools');
    await expect
      .poll(() =>
        rows(page)
          .filter({ hasText: /ping|tools/ })
          .count(),
      )
      .toBe(0);
    expect(faults).toEqual([]);
  });

  test('highlights the transition that a message caused on its chart', async (context) => {
    needsChromium(context);
    const { inspected, client } = await start();
    const { page, faults } = await live(inspected.url);
    client.changeRoots(['file:///home/ada/other']);
    await page.locator('#roots', { hasText: 'file:///home/ada/other' }).waitFor();
    await rows(page).filter({ hasText: 'roots/list_changed' }).click();
    await page.locator('#event .link', { hasText: 'roots: known → due' }).waitFor();
    const chosen = page.locator('#chart-roots .transition.chosen');
    expect(await chosen.getAttribute('class')).toContain('t-known--due');
    expect(await page.locator('#tab-roots').getAttribute('aria-selected')).toBe('true');
    // The machine returned to `known` because of a response that came several turns later.
    await rows(page).filter({ hasText: 'querying.fresh → known' }).click();
    await page.locator('#event .link', { hasText: 'result of roots/list' }).click();
    await page.locator('#event pre', { hasText: 'file:///home/ada/other' }).waitFor();
    expect(faults).toEqual([]);
  });

  test('freezes while paused and catches up on resume', async (context) => {
    needsChromium(context);
    const { inspected, client } = await start();
    const { page } = await live(inspected.url);
    await page.keyboard.press('p');
    await client.callTool('echo', { text: 'meanwhile' });
    await page.locator('#connection', { hasText: /paused, [1-9]\d* updates queued/ }).waitFor();
    expect(await rows(page).count()).toBe(0);
    expect(await page.locator('#pause').getAttribute('aria-pressed')).toBe('true');
    await page.locator('#pause').click();
    await rows(page).filter({ hasText: 'tools/call' }).first().waitFor();
    await page.locator('#connection', { hasText: 'live' }).waitFor();
  });

  test('works with the keyboard alone', async (context) => {
    needsChromium(context);
    const { inspected, client } = await start();
    const { page } = await live(inspected.url);
    await client.callTool('echo', { text: 'a' });
    await rows(page).filter({ hasText: 'result' }).first().waitFor();
    const focus: string[] = [];
    for (let step = 0; step < 14; step++) {
      await page.keyboard.press('Tab');
      focus.push(
        await page.evaluate<string>(
          "((at) => at.id || at.getAttribute('value') || at.getAttribute('aria-label') || '')(document.activeElement)",
        ),
      );
    }
    // Reading order: bar, timeline, charts, current state.
    expect(focus.slice(0, 12)).toEqual([
      ...['pause', 'filter', 'in', 'out', 'transition', 'sequence', 'rows'],
      ...['present', 'tab-session', 'follow', 'whole', 'chart-session'],
    ]);
    await page.locator('#tab-session').focus();
    await page.keyboard.press('ArrowRight');
    await page.locator('#chart-roots').waitFor();
    await page.locator('#tab-roots:focus').waitFor();
    await page.keyboard.press('4');
    await page.locator('#chart-task').waitFor();
    const tabs = () => page.locator('[role=tab]').evaluateAll((all) => all.map(({ id }) => id));
    expect(await tabs()).toEqual(['tab-session', 'tab-roots', 'tab-task']);
    // The tab of a machine that is not running is hidden unless it was selected.
    await page.keyboard.press('f');
    await expect.poll(tabs).toEqual(['tab-session', 'tab-roots']);
    await page.keyboard.press('Escape');
    await page.locator('#rows').focus();
    await page.keyboard.press('Home');
    const chosen = () => page.locator('#rows').getAttribute('aria-activedescendant');
    await expect.poll(chosen).toMatch(/^row-/);
    const first = await chosen();
    await page.keyboard.press('ArrowDown');
    await expect.poll(chosen).not.toBe(first);
    expect(await chosen()).toMatch(/^row-/);
    expect(await page.locator('.row[aria-selected=true]').count()).toBe(1);
    expect(await page.locator('footer kbd').allTextContents()).toEqual(
      expect.arrayContaining(['P', '/', 'C', 'S', 'Esc']),
    );
  });

  test('shows a task on its chart', async (context) => {
    needsChromium(context);
    const door = gate();
    const wait = defineTool({
      name: 'wait',
      description: 'Waits',
      taskSupport: 'optional',
      handler: async () => {
        await door.pass();
        return 'done';
      },
    });
    const { inspected, client } = await start([wait]);
    const { page, faults } = await live(inspected.url);
    const create = async () => {
      const { task } = await client.request('tools/call', {
        name: 'wait',
        arguments: {},
        task: {},
      });
      return (task as { readonly taskId: string }).taskId;
    };
    const [cancelled, completed] = [await create(), await create()];
    await page.locator('#tasks li', { hasText: 'working' }).first().locator('button').click();
    await page.locator('#chart-task .s-kept_open_working.active').waitFor();
    await client.request('tasks/cancel', { taskId: cancelled });
    door.release();
    await page.locator('#chart-task .s-kept_completed.active').waitFor();

    // Each task has its own transitions and chart.
    const moved = rows(page).filter({ hasText: 'task: kept.open.working →' });
    await moved.filter({ hasText: 'kept.completed' }).click();
    await page.locator('#event dd', { hasText: completed }).waitFor();
    const arrow = page.locator('#chart-task .transition.chosen');
    expect(await arrow.getAttribute('class')).toContain('t-kept_open--kept_completed');
    await rows(page).filter({ hasText: 'tasks/cancel' }).filter({ hasText: 'request' }).click();
    await page.locator('#event .link', { hasText: '→ kept.cancelled' }).click();
    await page.locator('#event dd').getByText(cancelled, { exact: true }).waitFor();
    await page.locator('#chart-task .s-kept_cancelled.active').waitFor();
    expect(await arrow.getAttribute('class')).toContain('t-kept_open--kept_cancelled');
    await page.keyboard.press('Escape');

    expect(faults).toEqual([]);
  });

  test('shows the last step of a resumable task and what it waits for', async (context) => {
    needsChromium(context);
    const remind = defineTool({
      name: 'remind',
      description: 'Charges, and sleeps',
      taskSupport: 'required',
      durable: true,
      handler: async (_, { once, sleep }) => {
        await once('charge', () => 1);
        await sleep(30_000);
        return 'reminded';
      },
    });
    const inspected = await inspectPage();
    held.push(inspected);
    const server = createMcpServer({ name: 'durable', version: '1', tools: [remind] });
    const settings = { server: 'durable', clock: systemClock, report: () => {} };
    const durable: TaskWorker = new TaskWorker({
      ...{ ...settings, store: new MemoryTaskStore() },
      resumer: (worker) => new SessionlessTasks(server, worker, {}),
    });
    await durable.start();
    const { peer, session } = scriptedConversation(server, {
      durable,
      watchers: [inspected.watcher],
    });
    held.push({
      [Symbol.asyncDispose]: async () => {
        session.shutdown('the test is over', 0);
        await session.closed;
        await durable.close();
      },
    });
    const extensions = { 'io.modelcontextprotocol/tasks': {} };
    peer.send(enveloped(1, 'tools/call', { name: 'remind' }, { capabilities: { extensions } }));
    await peer.response(1);
    const { page, faults } = await live(inspected.url);
    const task = page.locator('#tasks li', { hasText: 'last step sleep:1' });
    await task.filter({ hasText: /for .*waiting for a timer, due in \d+ s/ }).waitFor();
    const lease = `Process id in the task store: ${durable.owner.slice(0, 8)}.`;
    await page.getByText(lease).waitFor();
    expect(faults).toEqual([]);
  });

  test('shows or counts every message of a flood', async (context) => {
    needsChromium(context);
    const { inspected, client } = await start();
    const { page } = await live(inspected.url);
    const calls = Array.from({ length: 500 }, () => client.callTool('echo', { text: 'x' }));
    await Promise.all(calls);
    const skipped = rows(page).filter({ hasText: 'only counted' });
    await skipped.first().waitFor();
    await page.locator('#filter').fill('');
    await expect
      .poll(async () => {
        const texts = await skipped.allTextContents();
        const counts = texts.flatMap((text) => [...text.matchAll(/→ tools\/call ×(\d+)/g)]);
        const counted = counts.reduce((sum, [, count]) => sum + Number(count), 0);
        return counted + (await page.locator('.row.in.request', { hasText: 'tools/call' }).count());
      })
      .toBe(500);
  });
});
