/**
 * A host's connections on the page: a row per server, its machines, pending requests, and the
 * reason of a disconnect.
 */
import { createMcpServer, defineTool } from 'mcp-actors';
import { openServers } from 'mcp-actors/client';
import { inspectPage } from '@mcp-actors/inspector';
import { serveHttp } from 'mcp-actors/serve';
import { gate } from 'mcp-actors/testing';
import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  smallServer,
  startCommand,
  temporaryFolder,
} from '../../../cli/test/e2e/client-command.ts';
import { needsChromium } from '../../../../test/browser/chromium.ts';
import { open } from './inspected.ts';

const secrets = ['sk-of-the-environment', 'token-of-a-header', 'word-of-a-dead-process'] as const;
const [inEnvironment, inHeader, inStderr] = secrets;

describe('inspector page', () => {
  /** Three servers: one over HTTP, one launched, and one that always exits. */
  async function host() {
    const held = gate();
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      handler: async (_, { signal }) => {
        await held.pass(signal);
        return 'done';
      },
    });
    const serving = await serveHttp(
      createMcpServer({ name: 'remote-server', version: '1', tools: [wait] }),
      { port: 0 },
    );
    onTestFinished(() => serving.close(0));
    const shown = await inspectPage();
    onTestFinished(() => shown.close());
    const [program, script] = smallServer;
    const dies = `console.error("API_KEY=${inStderr}"); process.exitCode = 3`;
    const config = {
      mcpServers: {
        remote: { url: String(serving.url), headers: { authorization: `Bearer ${inHeader}` } },
        local: { command: program, args: [script, 'one'], env: { API_KEY: inEnvironment } },
        dying: { command: program, args: ['-e', dies] },
      },
    };
    const servers = openServers(config, {
      watchers: [shown.watcher],
      cacheFolder: false,
      report: () => {},
      restart: { initialMs: 600_000, maxMs: 600_000 },
      forServer: (name) => (name === 'remote' ? { era: 'legacy' } : {}),
    });
    onTestFinished(() => servers.close());
    await servers.started();
    return { address: shown.url, servers, held };
  }

  const entry = (page: Page, name: string) => page.locator('#sessions button', { hasText: name });
  const tabs = async (page: Page) =>
    (await page.locator('#charts [role=tab]').allTextContents()).map((text) => text.trim());

  test('shows a row per server with its machines and pending requests', async (context) => {
    needsChromium(context);
    const { address, servers, held } = await host();
    const { page, faults } = await open(address);
    for (const name of ['remote', 'local', 'dying']) await entry(page, name).waitFor();
    await entry(page, 'local').filter({ hasText: 'idle' }).waitFor();
    const call = servers.callTool('remote__wait');
    await held.arrived();
    await entry(page, 'remote').click();
    await page.locator('#pending li', { hasText: 'tools/call' }).waitFor();
    expect(await page.locator('#pending-title').textContent()).toBe('Waiting for the server');
    expect(await page.locator('#why').textContent()).toBe(
      'Waiting for remote to answer tools/call.',
    );
    expect(await page.locator('#facts').textContent()).toContain(
      'remote-server 1 · MCP 2025-11-25',
    );
    await page.locator('#chart-connection .s-ready_fresh.active').waitFor();
    const machines = (await tabs(page)).map((text) => text.replace(/ \S+$/, ''));
    expect(machines).toEqual(
      expect.arrayContaining([
        ...['connection', 'server-push', "the server's own stream"],
        ...['tools list', 'slot'],
      ]),
    );
    held.release();
    await call;
    await page.locator('#pending').waitFor({ state: 'detached' });
    // The request may predate the page; only its response is certain to appear.
    await page.locator('#rows .row.in', { hasText: 'tools/call' }).waitFor();
    await page.locator('[role=tab]', { hasText: 'server-push' }).click();
    await page.locator('#chart-server-push .s-served.active').waitFor();
    await page.locator('#tab-http-channel').waitFor();
    await entry(page, 'local').click();
    await page.locator('#lists li', { hasText: 'tools' }).waitFor();
    await page.locator('[role=tab]', { hasText: 'process' }).click();
    await page.locator('#chart-process .s-launched_child_running.active').waitFor();
    expect(faults).toEqual([]);
  });

  test('shows why a connection was lost, without secrets', async (context) => {
    needsChromium(context);
    const { address, servers } = await host();
    const { page, faults } = await open(address);
    await entry(page, 'dying').click();
    await page.locator('#chart-connection .s-backoff.active').waitFor();
    await expect
      .poll(() => page.locator('#why').textContent())
      .toBe(
        "Waiting before attempt 3 to connect: The server's process has exited with code 3. Last stderr output: API_KEY=[redacted].",
      );
    await page.locator('#loss li', { hasText: 'exited' }).waitFor();
    await entry(page, 'local').click();
    await page.locator('#state', { hasText: 'ready.fresh' }).waitFor();
    void servers.get('local')?.reconnect();
    await page.locator('#rows .transition', { hasText: 'connection: ready.fresh' }).waitFor();
    await page.locator('#rows .transition', { hasText: 'process: ' }).first().waitFor();
    await page.locator('#rows .row.out', { hasText: 'tools/list' }).first().waitFor();
    await page.locator('#facts', { hasText: 'opened 2 times' }).waitFor();
    await servers.close();
    await entry(page, 'local').filter({ hasText: 'closed' }).waitFor();
    const content = await page.content();
    for (const secret of secrets) expect(content).not.toContain(secret);
    expect(faults).toEqual([]);
  });

  test('shows a row with the reason for each server not started, and reuses it for the connection', async (context) => {
    needsChromium(context);
    const shown = await inspectPage();
    onTestFinished(() => shown.close());
    const [program, script] = smallServer;
    const mcpServers = {
      later: { command: program, args: [script, 'one'], lazy: true },
      never: { command: program, disabled: true },
      wrong: { command: 5 },
    };
    const options = { watchers: [shown.watcher], cacheFolder: false, report: () => {} } as const;
    const servers = openServers({ mcpServers }, options);
    onTestFinished(() => servers.close());
    const { page, faults } = await open(shown.url);
    const why = async (name: string) => {
      await entry(page, name).click();
      await page.locator('#announcement', { hasText: name }).waitFor({ state: 'attached' });
      return page.locator('#why').textContent();
    };
    expect(await why('later')).toBe('later is not started. Its first use starts it.');
    expect(await why('never')).toBe('The configuration says that never is disabled.');
    expect(await why('wrong')).toBe(
      'wrong was not started: server "wrong", key "command": 5 is not the name or path of a program.',
    );
    await entry(page, 'never').filter({ hasText: 'disabled' }).waitFor();
    await entry(page, 'wrong').filter({ hasText: 'failed' }).waitFor();
    await servers.callTool('later__one');
    await entry(page, 'later').click();
    await page.locator('#state', { hasText: 'ready' }).waitFor();
    await page.locator('#chart-connection .s-ready_fresh.active').waitFor();
    expect(await entry(page, 'later').count()).toBe(1);
    expect(faults).toEqual([]);
  });

  test('shows the connections of mcp-actors shell --inspect', async (context) => {
    needsChromium(context);
    const line = ['shell', '--inspect', '--', ...smallServer, 'one'];
    const { child, ended, shows } = startCommand(line, temporaryFolder());
    let stderr = '';
    child.stderr.on('data', (text: string) => (stderr += text));
    await shows('to see the connections');
    const [url = ''] = /http:\S+/.exec(stderr) ?? [];
    const { page, faults } = await open(url);
    await page.locator('#facts', { hasText: 'small 1.0.0' }).waitFor();
    child.stdin.write('call one\n');
    await page.locator('#rows .row.out', { hasText: 'tools/call one' }).waitFor();
    await page.keyboard.press('v');
    await page.locator('.sequence .head', { hasText: 'connection' }).waitFor();
    child.stdin.end();
    await ended;
    await page.locator('#connection[data-connection=ended]').waitFor();
    expect(faults).toEqual([]);
  });

  test('shows a row per session and per upstream server of mcp-actors bridge --inspect', async (context) => {
    needsChromium(context);
    const line = ['bridge', '--inspect', '--', ...smallServer, 'one'];
    const { child, ended, shows, errors } = startCommand(line, temporaryFolder());
    await shows('to see the session');
    const [url = ''] = /http:\S+/.exec(errors()) ?? [];
    const { page, faults } = await open(url);
    const write = (message: object) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const clientInfo = { name: 'some host', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    write({ id: 1, method: 'initialize', params });
    write({ method: 'notifications/initialized' });
    await shows('"id":1');
    write({ id: 2, method: 'tools/call', params: { name: 'one' } });
    await shows('"id":2');
    await entry(page, 'some host').click();
    await page.locator('#rows .row.in', { hasText: 'tools/call one' }).waitFor();
    await entry(page, 'small-server').click();
    await page.locator('#facts', { hasText: 'small 1.0.0' }).waitFor();
    await page.locator('#rows .row.out', { hasText: 'tools/call one' }).waitFor();
    child.stdin.end();
    await ended;
    expect(faults).toEqual([]);
  });
});
