/**
 * The view of examples/app in a real browser: sandboxed in a host page that uses the official
 * bridge, which calls the tool of the real server.
 */
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { program } from '../tooling/programs.ts';
import { closeClients, connect } from '../e2e/sdk-client.ts';
import { needsChromium, newPage } from './chromium.ts';

/** The host page: shows a view and forwards its calls. */
const host = join(import.meta.dirname, 'app-host.mjs');

const capabilities = {
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
};
const input = { dice: 3 };

/** The numbers shown by the dice. */
const spots = (shown: string | null) =>
  (shown ?? '').split(' ').map((die) => (die.codePointAt(0) ?? 0) - 0x267f);

describe('the dice app', () => {
  let script = '';
  beforeAll(async () => {
    const { outputFiles } = await build({
      entryPoints: [host],
      ...{ bundle: true, write: false, format: 'iife', platform: 'browser', logLevel: 'silent' },
    });
    script = outputFiles[0]?.text ?? '';
  });
  afterEach(closeClients);

  async function start() {
    const { client } = await connect(program('examples/app/server.ts'), { capabilities });
    const { tools } = await client.listTools();
    const [{ _meta = {} } = {}] = tools;
    const { resourceUri: uri } = _meta['ui'] as { readonly resourceUri: string };
    const { contents } = await client.readResource({ uri });
    const [{ text: html } = { text: '' }] = contents as readonly { readonly text: string }[];
    const call = (params: { readonly name: string }) => client.callTool(params);
    const page = await newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    return { page, html, call, faults };
  }

  /** Shows the view, forwards its calls to the server, and returns its introduction. */
  async function show(
    page: Page,
    html: string,
    result: unknown,
    callTool: (params: never) => unknown,
  ) {
    await page.exposeFunction('callTool', callTool);
    await page.addScriptTag({ content: script });
    const given = [html, input, result].map((each) => JSON.stringify(each)).join(', ');
    return await page.evaluate(`show(${given})`);
  }

  test('shows a roll, repeats it with the same arguments, and can be closed', async (context) => {
    needsChromium(context);
    const { page, html, call, faults } = await start();
    const called: unknown[] = [];
    const rolled: unknown[] = [];
    const result = await call({ name: 'roll_dice', arguments: input } as { name: string });
    const introduced = await show(page, html, result, async (params: { readonly name: string }) => {
      called.push(params);
      const again = await call(params);
      rolled.push((again.structuredContent as { readonly rolled: unknown }).rolled);
      return again;
    });
    expect(introduced).toEqual({ name: 'dice', version: '1.0.0' });
    const view = page.frameLocator('iframe');
    const again = view.getByRole('button', { name: 'Roll again' });
    await again.and(view.locator(':enabled')).waitFor();
    const first = (result.structuredContent as { readonly rolled: unknown }).rolled;
    expect(spots(await view.locator('#dice').textContent())).toEqual(first);
    await again.click();
    await expect.poll(() => rolled).toHaveLength(1);
    await expect
      .poll(async () => spots(await view.locator('#dice').textContent()))
      .toEqual(rolled[0]);
    expect(called).toEqual([{ name: 'roll_dice', arguments: input }]);
    expect(await page.evaluate('window.tearDown()')).toEqual({});
    // The view has reported its height.
    expect(Number(await page.locator('iframe').getAttribute('height'))).toBeGreaterThan(50);
    expect(faults).toEqual([]);
  });

  test('shows why a roll failed, and allows another attempt', async (context) => {
    needsChromium(context);
    const { page, html, call, faults } = await start();
    const result = await call({ name: 'roll_dice', arguments: input } as { name: string });
    await show(page, html, result, () => {
      throw new Error('The server has gone');
    });
    const view = page.frameLocator('iframe');
    await view.getByRole('button', { name: 'Roll again' }).click();
    await view.locator('#dice', { hasText: 'The server has gone' }).waitFor();
    await view.locator('#again:enabled').waitFor();
    expect(faults).toEqual([]);
  });
});
