/**
 * Clients in pages of another origin, in a real browser, which sends preflight requests and filters
 * headers.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build } from 'esbuild';
import { createMcpServer, defineTool } from 'mcp-actors';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { HttpOptions } from '../../packages/http/src/index.ts';
import { serveHttp } from '../../packages/http/test/serving.ts';
import { needsChromium, newPage } from './chromium.ts';

const server = createMcpServer({
  name: 'elsewhere',
  version: '1',
  tools: [
    defineTool({
      name: 'roots',
      description: 'Asks for the roots',
      handler: async (_, context) => `${(await context.roots()).roots[0]?.uri}`,
    }),
    defineTool({
      name: 'push',
      description: 'Notifies without a request',
      handler: (_, { session }) => {
        session.notify('test/step', {});
        return 'pushed';
      },
    }),
    defineTool({
      name: 'page',
      description: 'Says which page calls',
      handler: (_, { http }) => `${http?.header('origin')}`,
    }),
  ],
});

describe('a page of another origin', () => {
  let script = '';
  beforeAll(async () => {
    const { outputFiles } = await build({
      entryPoints: [join(import.meta.dirname, 'cors-page.mjs')],
      ...{ bundle: true, write: false, format: 'iife', platform: 'browser', logLevel: 'silent' },
    });
    script = outputFiles[0]?.text ?? '';
  });

  /** An empty page with the script, on its own origin. */
  async function open(): Promise<{ page: Page; origin: string }> {
    const http = createServer((_, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>page</title>');
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const page = await newPage();
    onTestFinished(async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    });
    await page.goto(origin);
    await page.addScriptTag({ content: script });
    return { page, origin };
  }

  const serve = async (options: HttpOptions) => (await serveHttp(server, options)).href;

  test('can use a session with streams if allowed', async (context) => {
    needsChromium(context);
    const { page, origin } = await open();
    const url = await serve({ allowedOrigins: [origin] });
    expect(await page.evaluate(`useSession('${url}')`)).toEqual({
      hasSession: true,
      protocolVersion: '2025-11-25',
      content: [{ type: 'text', text: 'file:///page' }],
      push: 'test/step',
    });
  });

  test('can be a client of 2026-07-28 with the required headers if allowed', async (context) => {
    needsChromium(context);
    const { page, origin } = await open();
    const url = await serve({ allowedOrigins: [origin] });
    const said = await page.evaluate(`useModern('${url}')`);
    expect(said).toEqual([{ type: 'text', text: origin }]);
  });

  test('can read where to get a token if allowed', async (context) => {
    needsChromium(context);
    const { page, origin } = await open();
    const authorization = {
      verifyToken: () => undefined,
      resource: 'https://mcp.example.com/mcp',
      authorizationServers: ['https://auth.example.com'],
    };
    const url = await serve({ allowedOrigins: [origin], authorization });
    expect(await page.evaluate(`look('${url}', 'www-authenticate')`)).toEqual([
      401,
      expect.stringContaining('resource_metadata='),
    ]);
  });

  const refusing: readonly (readonly [string, HttpOptions])[] = [
    ['another one is', { allowedOrigins: ['https://app.example'] }],
    ['none is', {}],
  ];

  for (const [who, options] of refusing) {
    test(`sees nothing if ${who} allowed`, async (context) => {
      needsChromium(context);
      const { page } = await open();
      const url = await serve(options);
      expect(await page.evaluate(`look('${url}', 'content-type')`)).toContain('Failed to fetch');
    });
  }
});
