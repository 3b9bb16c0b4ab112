/** Chart of a tool that is a machine, in the state of the selected call. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { createMcpServer, defineTool } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { inspectPage } from '@mcp-actors/inspector';
import { scriptedConversation } from 'mcp-actors/testing';
import { bookingMachine } from '../../../../examples/booking/booking.machine.ts';
import { modernPeer } from '../../../../test/server/modern-peer.ts';
import { needsChromium } from '../../../../test/browser/chromium.ts';
import { open } from './inspected.ts';

const { SCREENSHOTS: folder } = process.env;

const book = defineTool({
  name: 'book',
  description: 'Books a table',
  inputSchema: {
    type: 'object',
    properties: { day: { type: 'string' } },
    required: ['day'],
  },
  machine: bookingMachine,
});

const call = (day: string) => ({ name: 'book', arguments: { day } });
const answer = (day: string, asked: JsonObject, content: JsonObject) => {
  const { requestState, inputRequests } = asked;
  const [key = ''] = Object.keys(inputRequests as object);
  const inputResponses = { [key]: { action: 'accept', content } };
  return { ...call(day), requestState, inputResponses };
};

describe('tool chart', () => {
  const held: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const each of held.splice(0).reverse()) await each[Symbol.asyncDispose]();
  });

  async function start() {
    const inspected = await inspectPage();
    held.push(inspected);
    const server = createMcpServer({ name: 'restaurant', version: '1', tools: [book] });
    const { peer, session } = scriptedConversation(server, { watchers: [inspected.watcher] });
    held.push(session);
    const { page, faults } = await open(inspected.url, {
      viewport: { width: 1440, height: 900 },
    });
    return { ...modernPeer(peer), page, faults };
  }

  const active = (page: Page, state: string) =>
    page.locator(`#chart-tool .node.s-${state}.active`).waitFor();

  test('follows its call and announces the state to screen readers', async (context) => {
    needsChromium(context);
    const { ask, page, faults } = await start();
    const asked = await ask('tools/call', call('Monday'));
    await active(page, 'people');
    expect(await page.locator('#tab-tool').textContent()).toBe('book people');
    await ask('tools/call', answer('Monday', asked, { people: 4 }));
    await active(page, 'seating');
    expect(await page.locator('#chart-tool .node.active').count()).toBe(1);
    expect(await page.locator('#chart-tool p').textContent()).toBe(
      'The book machine is in seating.',
    );
    const rows = page.locator('#chart-tool .transition');
    expect(await rows.filter({ hasText: 'answer.accepted [goesBack]' }).count()).toBe(1);
    await page.locator('#whole').click();
    await expect.poll(() => rows.filter({ hasText: 'answer.accepted [goesBack]' }).count()).toBe(2);
    if (folder !== undefined) await page.screenshot({ path: `${folder}/inspect-tool.png` });
    expect(faults).toEqual([]);
  });

  test('stays with the selected call from request to request', async (context) => {
    needsChromium(context);
    const { ask, page, faults } = await start();
    const monday = await ask('tools/call', call('Monday'));
    const seating = await ask('tools/call', answer('Monday', monday, { people: 4 }));
    const tuesday = await ask('tools/call', call('Tuesday'));
    await page.locator('#calls button', { hasText: 'people' }).click();
    await active(page, 'people');
    await page.locator('#calls button', { hasText: 'seating' }).click();
    await active(page, 'seating');
    await page.locator('#calls button', { hasText: 'people' }).click();
    await active(page, 'people');
    await ask('tools/call', answer('Tuesday', tuesday, { people: 2 }));
    await active(page, 'seating');
    await ask('tools/call', answer('Monday', seating, {}));
    await page.locator('#calls button', { hasText: 'confirming' }).waitFor();
    await active(page, 'seating');
    const pressed = page.locator('#calls button[aria-pressed=true]');
    expect(await pressed.allTextContents()).toEqual(['seating']);
    expect(faults).toEqual([]);
  });

  test('marks no state active once no call is left', async (context) => {
    needsChromium(context);
    const { ask, page, faults } = await start();
    const asked = await ask('tools/call', call('Monday'));
    await page.locator('#calls button', { hasText: 'people' }).click();
    await active(page, 'people');
    const { requestState } = asked;
    const inputResponses = { q1: { action: 'decline' } };
    await ask('tools/call', { ...call('Monday'), requestState, inputResponses });
    await page.locator('#tab-tool', { hasText: 'book none' }).waitFor();
    expect(await page.locator('#chart-tool .state').count()).toBe(6);
    expect(await page.locator('#chart-tool .active').count()).toBe(0);
    expect(faults).toEqual([]);
  });
});
