/** The ways to mount a server, with the official client of both eras. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { app as express } from '../../examples/http/express.mjs';
import { app as fastify } from '../../examples/http/fastify.ts';
import module from '../../examples/http/fetch.ts';
import { app as hono } from '../../examples/http/hono.ts';
import * as route from '../../examples/http/next-route.ts';
import { server as plain } from '../../examples/http/node.ts';
import { launchHttp } from '../e2e/http-process.ts';
import { modern, textOf } from '../e2e/both-eras-client.ts';
import { reapServers } from '../e2e/server-process.ts';
import { connectTo } from '../../packages/http/test/serving.ts';
import { program } from '../tooling/programs.ts';

afterEach(reapServers);

/** The fetch handler for Bun, Deno and workers. */
const fetching = (fetch: (request: Request) => Response | Promise<Response>) =>
  createAdaptorServer({ fetch }) as Server;

/** Next calls the function of the method. */
function next(request: Request): Promise<Response> {
  const { method } = request;
  const handle = Object.entries(route).find(([name]) => name === method)?.[1];
  return handle?.(request) ?? Promise.resolve(new Response(undefined, { status: 405 }));
}

const mounted: readonly [string, () => Server | Promise<Server>][] = [
  ['node:http', () => plain],
  ['Hono', () => fetching((request) => hono.fetch(request))],
  ['Express', () => createServer(express)],
  [
    'Fastify',
    async () => {
      await fastify.ready();
      return createServer((request, response) => fastify.routing(request, response));
    },
  ],
  ['a route of Next', () => fetching(next)],
  ['a module with fetch', () => fetching((request) => module.fetch(request))],
];

async function urlOf(server: Server): Promise<URL> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
}

const greet = { name: 'greet', arguments: { who: 'Ada' } };

describe.each(mounted)('mounted in %s', (_name, serverOf) => {
  test('serves clients of both eras', async () => {
    const url = await urlOf(await serverOf());
    for (const mode of ['legacy', modern] as const) {
      const client = await connectTo(url, mode);
      expect(textOf(await client.callTool(greet))).toBe('Hello Ada, at /mcp');
    }
    const refused = await fetch(url, { method: 'POST', body: '{}' });
    expect([404, 405, 415]).toContain(refused.status);
  });
});

test('serves as a process of its own', async () => {
  const { server, url } = await launchHttp(program('examples/http/serve.ts'), {
    env: { PORT: '0' },
  });
  const client = await connectTo(url, 'auto');
  expect(textOf(await client.callTool(greet))).toBe('Hello Ada, at /mcp');
  server.child.kill('SIGTERM');
  expect((await server.exit).code).toBe(0);
});
