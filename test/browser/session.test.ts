/** The session core runs without Node: bundled like an application, in a real browser. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Plugin } from 'esbuild';
import { describe, expect, onTestFinished, test } from 'vitest';
import { needsChromium, newPage } from './chromium.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const entries = [
  ['the sources', here('../../src/index.ts')],
  ['the package as it is published', here('../../dist/index.js')],
] as const;

/** A bundle for browsers. It resolves only if nothing imports a Node module. */
async function bundle(library: string): Promise<string> {
  const thisLibrary: Plugin = {
    name: 'this-library',
    setup: ({ onResolve }) => onResolve({ filter: /^mcp-actors$/ }, () => ({ path: library })),
  };
  const { outputFiles, warnings } = await build({
    entryPoints: [here('page-session.ts')],
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'iife',
    target: 'es2022',
    plugins: [thisLibrary],
  });
  expect(warnings).toEqual([]);
  return outputFiles[0]?.text ?? '';
}

async function serve(script: string): Promise<string> {
  const http = createServer(({ url }, response) => {
    const isScript = url === '/session.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? script : '<!doctype html><script src="/session.js"></script>');
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

describe.each(entries)('a session in a page, from %s', (_what, library) => {
  test('serves a client there: a tool call, roots and the end', async (context) => {
    needsChromium(context);
    const url = await serve(await bundle(library));
    const page = await newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => faults.push(message.text()));
    await page.goto(`${url}/work`);
    expect(await page.evaluate('run()')).toEqual({
      server: { name: 'in-the-page', version: '1.0.0' },
      greeted: {
        jsonrpc: '2.0',
        id: 2,
        result: { content: [{ type: 'text', text: 'Ada at file:///work' }] },
      },
      refused: expect.objectContaining({
        result: expect.objectContaining({ isError: true }) as unknown,
      }) as unknown,
      states: ['uninitialized', 'negotiated', 'initialized', 'rootsKnown', 'draining', 'closed'],
      cause: { kind: 'shutdown', reason: 'the page is done' },
    });
    expect(faults).toEqual([]);
  });
});
