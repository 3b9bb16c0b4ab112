/** Timeline of a real session: rows, sequence diagram, and the chart that follows it. */
import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { createMcpServer, defineTool } from 'mcp-actors';
import { inspectPage } from '@mcp-actors/inspector';
import { scriptedConversation, toolCall } from 'mcp-actors/testing';
import { needsChromium, newPage } from '../../../../test/browser/chromium.ts';
import { open } from './inspected.ts';

const hostile = '</style><script>alert(1)</script>';

const tools = [
  defineTool({
    name: 'where',
    description: 'Tells the roots',
    handler: async (_, context) => `${(await context.roots()).roots.length}`,
  }),
  defineTool({
    name: 'fails',
    description: 'Cannot do it',
    handler: () => {
      throw new Error(`no such file: ${hostile}`);
    },
  }),
];

describe('timeline', () => {
  const held: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const each of held.splice(0).reverse()) await each[Symbol.asyncDispose]();
  });

  /** A session observed by the page from its start. */
  async function start() {
    const inspected = await inspectPage();
    held.push(inspected);
    const server = createMcpServer({ name: 'watched', version: '1', tools });
    const { page, faults } = await open(inspected.url);
    const { session, peer } = scriptedConversation(server, { watchers: [inspected.watcher] });
    held.push(session);
    await peer.handshake({ capabilities: { roots: { listChanged: true } } });
    const query = await peer.request('roots/list');
    const answerRoots = () => peer.answer(query, { roots: [] });
    const call = (id: number, name: string) => {
      peer.send(toolCall(id, name));
      return peer.response(id);
    };
    return { page, peer, call, answerRoots, faults };
  }

  const texts = async (page: Page, selector: string) =>
    (await page.locator(selector).allTextContents()).map((text) => text.trim());

  test('names tools, and marks error results with their reason', async (context) => {
    needsChromium(context);
    const { page, call, answerRoots, faults } = await start();
    answerRoots();
    await call(1, 'where');
    await call(2, 'fails');
    await call(3, 'unknown');
    const rows = page.locator('#rows .row', { hasText: 'tools/call' });
    await expect.poll(() => rows.count()).toBe(6);
    expect(await texts(page, '#rows .row:has-text("tools/call") .words')).toEqual([
      ...['tools/call where', 'tools/call where', 'tools/call fails', 'tools/call fails'],
      ...['tools/call unknown', 'tools/call unknown'],
    ]);
    const faulty = page.locator('#rows .row.fault');
    expect(await faulty.count()).toBe(2);
    expect(await faulty.nth(0).locator('.what').textContent()).toMatch(/^tool error · \d+ ms$/);
    expect(await faulty.nth(0).locator('.problem').textContent()).toContain(hostile);
    expect(await faulty.nth(1).locator('.what').textContent()).toMatch(/^error · \d+ ms$/);
    expect(await faulty.nth(1).locator('.problem').textContent()).toMatch(/^-32602 .*"unknown"/);
    expect(await faulty.nth(0).getAttribute('aria-label')).toContain('no such file');
    // The filter matches rows by tool and by error text.
    await page.locator('#filter').fill('fails no such file');
    await expect.poll(() => rows.count()).toBe(1);
    expect(faults).toEqual([]);
  });

  test('shows why a call waits, with the matching chart', async (context) => {
    needsChromium(context);
    const { page, peer, answerRoots, faults } = await start();
    peer.send(toolCall(7, 'where'));
    const waiting = page.locator('#calls li', { hasText: 'tools/call where #7' });
    await waiting.filter({ hasText: 'waiting for the roots: roots/list, sent' }).waitFor();
    expect(await waiting.getAttribute('data-waits-for')).toBe('roots');
    await page.locator('#chart-roots .s-querying_fresh.active').waitFor();
    // A selected chart stays until Follow is pressed.
    await page.keyboard.press('1');
    await page.locator('#chart-session').waitFor();
    expect(await page.locator('#follow').getAttribute('aria-pressed')).toBe('false');
    await page.keyboard.press('f');
    await page.locator('#chart-roots').waitFor();
    answerRoots();
    await page.locator('#chart-session .s-open_lifecycle_rootsKnown.active').waitFor();
    await waiting.waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
  });

  test('draws a sequence diagram with a lane per part, usable like the rows', async (context) => {
    needsChromium(context);
    const { page, call, answerRoots, faults } = await start();
    answerRoots();
    await call(1, 'where');
    await page.locator('#rows .row.result', { hasText: 'where' }).waitFor();
    const rows = await page.locator('#rows .row').count();
    await page.keyboard.press('v');
    await page
      .locator('#rows .item')
      .nth(rows - 1)
      .waitFor();
    expect(await texts(page, '.sequence text.head')).toEqual([
      'client',
      'session',
      'roots',
      'tools',
    ]);
    const head = async (name: string) => {
      const box = await page.locator('.sequence rect.head + text', { hasText: name }).boundingBox();
      return (box?.x ?? 0) + (box?.width ?? 0) / 2;
    };
    const ends = async (text: string, what: string) => {
      const arrow = page.locator(`#rows .item.${what}`, { hasText: text }).last().locator('.arrow');
      const box = await arrow.boundingBox();
      return [box?.x ?? 0, (box?.x ?? 0) + (box?.width ?? 0)] as const;
    };
    const reaches = async ([left, right]: readonly [number, number], from: string, to: string) => {
      expect(Math.abs(left - (await head(from)))).toBeLessThan(16);
      expect(Math.abs(right - (await head(to)))).toBeLessThan(16);
    };
    await reaches(await ends('initialize', 'request'), 'client', 'session');
    await reaches(await ends('roots/list', 'request'), 'client', 'roots');
    await reaches(await ends('tools/call where', 'request'), 'client', 'tools');
    expect(await texts(page, '#rows .item.state > text')).toEqual([
      ...['negotiated', 'initialized', 'querying.fresh', 'known', 'rootsKnown'],
    ]);
    // Items are selected by click and by keyboard, like rows.
    await page.locator('#rows .item', { hasText: 'initialize' }).first().click();
    await page.locator('#event pre', { hasText: 'protocolVersion' }).waitFor();
    const chosen = () => page.locator('#rows').getAttribute('aria-activedescendant');
    const first = await chosen();
    await page.keyboard.press('ArrowDown');
    await expect.poll(chosen).not.toBe(first);
    expect(await page.locator('#rows .item[aria-selected=true]').getAttribute('id')).toBe(
      await chosen(),
    );
    await page.locator('#filter').fill('roots/list');
    await expect.poll(() => page.locator('#rows .item').count()).toBe(2);
    expect(faults).toEqual([]);
  });

  test('saves a self-contained SVG file that runs no script', async (context) => {
    needsChromium(context);
    const { page, call, answerRoots, faults } = await start();
    answerRoots();
    await call(2, 'fails');
    await page.locator('#rows .row.fault').waitFor();
    await page.locator('#sequence').click();
    const download = page.waitForEvent('download');
    await page.locator('#save').click();
    const file = await download;
    expect(file.suggestedFilename()).toMatch(/^mcp-session-\d{6}\.svg$/);
    const text = await readFile(await file.path(), 'utf8');
    const alone = await newPage();
    const said: string[] = [];
    alone.on('dialog', (dialog) => {
      said.push(dialog.message());
      void dialog.dismiss();
    });
    await alone.goto(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`);
    expect(await alone.evaluate('document.documentElement.localName')).toBe('svg');
    expect(await alone.evaluate("document.querySelectorAll('script').length")).toBe(0);
    const labels = await texts(alone, '.item > text');
    expect(labels).toContain('tools/call fails #2');
    expect(labels.join()).toContain(`no such file: ${hostile}`);
    const fill = "getComputedStyle(document.querySelector('.item.fault > text')).fill";
    expect(await alone.evaluate(fill)).toBe('rgb(194, 36, 46)');
    expect(said).toEqual([]);
    expect(faults).toEqual([]);
  });
});
