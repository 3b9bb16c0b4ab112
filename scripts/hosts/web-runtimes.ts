/** The runtimes that take a module with `fetch`: each serves the package's example, to the official clients. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { build } from 'esbuild';
import { fetchRuntime } from '../npm.ts';
import type { RuntimePackage } from '../npm.ts';
import type { Check } from './scenario.ts';
import type { Subject } from './subject.ts';

const example = fileURLToPath(new URL('../../examples/http/fetch.ts', import.meta.url));

interface WebRuntime extends RuntimePackage {
  readonly name: string;
  /** Prepares the module, and gives the arguments that serve it at a port of loopback. */
  args(app: string, port: number): Promise<readonly string[]>;
}

const webRuntimes: readonly WebRuntime[] = [
  {
    name: 'Bun 1.4.5',
    package: 'bun@1.4.5',
    tellPath: ['bun', '--print', 'process.execPath'],
    args: async (app) => [await buildModule(app)],
  },
  {
    name: 'Deno 2.9.6',
    package: 'deno@2.9.6',
    tellPath: ['deno', 'eval', 'console.log(Deno.execPath())'],
    args: async (app, port) => {
      const where = ['--host', '127.0.0.1', '--port', `${port}`];
      return ['serve', '--allow-all', ...where, await buildModule(app)];
    },
  },
  {
    name: 'workerd 1.20260730.1',
    package: 'workerd@1.20260730.1',
    tellPath: ['which', 'workerd'],
    args: async (app, port) => ['serve', await buildWorker(app, port)],
  },
];

/** A check for each of them. */
export function webChecks({ app }: Subject): readonly Check[] {
  return webRuntimes.map((runtime) => {
    const { path: program = '', missing } = fetchRuntime(runtime);
    const run = async () => served(program, await freePort(), runtime, app);
    return {
      name: `${runtime.name}, a module with fetch: serves clients of both eras`,
      missing,
      run,
    };
  });
}

async function served(
  program: string,
  port: number,
  runtime: WebRuntime,
  app: string,
): Promise<readonly string[]> {
  const child = spawn(program, await runtime.args(app, port), {
    cwd: app,
    env: { ...process.env, PORT: `${port}`, BUN_PORT: `${port}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = once(child, 'exit');
  let said = '';
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding('utf8').on('data', (text: string) => (said += text));
  }
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  try {
    await listening(url);
    const faults = [];
    for (const [era, greet] of Object.entries(clients)) {
      const answer = await greet(url).catch((error: unknown) => String(error));
      if (!answer.includes('Hello Ada, at /mcp')) faults.push(`${era}: ${answer}; ${said}`);
    }
    return faults;
  } catch (error) {
    return [`${String(error)}; ${said}`];
  } finally {
    child.kill();
    await exit;
  }
}

const clientInfo = { name: 'web-runtimes', version: '1' };
const greeting = { name: 'greet', arguments: { who: 'Ada' } };

/** Each calls the example's tool, and once more with what its schema refuses. */
const clients: { readonly [name: string]: (url: URL) => Promise<string> } = {
  'SDK 1.32.2, 2025-11-25': async (url) => {
    const client = new LegacyClient(clientInfo);
    await client.connect(new LegacyTransport(url) as Transport);
    return answers(client);
  },
  'SDK 2.4.0, 2026-07-28': async (url) => {
    const mode = { pin: '2026-07-28' } as const;
    const client = new Client(clientInfo, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(url));
    return answers(client);
  },
};

async function answers(client: Calling): Promise<string> {
  const answer = JSON.stringify(await client.callTool(greeting));
  const refused = await client.callTool({ name: 'greet', arguments: { who: 1 } });
  await client.close();
  return 'isError' in refused ? answer : 'it takes arguments of any type';
}

interface Calling {
  callTool(params: { name: string; arguments: { who: string | number } }): Promise<object>;
  close(): Promise<void>;
}

/** Its own code alone, beside the package. */
async function buildModule(app: string): Promise<string> {
  const outfile = join(app, 'fetch.js');
  // Without the paths of tsconfig.json, which lead to the sources.
  const beside = { bundle: true, format: 'esm', tsconfigRaw: {}, packages: 'external' } as const;
  await build({ entryPoints: [example], outfile, ...beside, logLevel: 'warning' });
  return outfile;
}

/** One module with everything, as tools for workers make it, and what serves it. */
async function buildWorker(app: string, port: number): Promise<string> {
  const outfile = join(app, 'worker.mjs');
  await build({
    entryPoints: [await buildModule(app)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    logLevel: 'warning',
  });
  const config = join(app, 'worker.capnp');
  const socket = `(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")`;
  const module = '(name = "worker", esModule = embed "worker.mjs")';
  writeFileSync(
    config,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = .mcp)], sockets = [${socket}]);
const mcp :Workerd.Worker = (modules = [${module}], compatibilityDate = "2026-07-01");
`,
  );
  return config;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** @throws {Error} nothing listens there for 20 seconds */
async function listening(url: URL): Promise<void> {
  for (let left = 200; left > 0; left--) {
    const answer = await fetch(url).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer) return;
    await delay(100);
  }
  throw new Error('It does not listen');
}
