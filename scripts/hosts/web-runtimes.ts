/** The examples of how a server is mounted over HTTP, in other runtimes than Node: each serves the official clients. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
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

const examples = fileURLToPath(new URL('../../examples/http', import.meta.url));

/** An example, and what makes a module of it that a runtime can be given. */
interface Mounting {
  readonly name: string;
  /** A module whose `fetch` the runtime calls, or a program that listens at `PORT` by itself. */
  readonly kind: 'fetch' | 'program';
  readonly source: string;
  /** Whether SIGTERM ends it in good order. */
  readonly endsBySignal?: boolean;
}

const port = `Number(process.env.PORT)`;

const mountings: readonly Mounting[] = [
  { name: 'a module with fetch', kind: 'fetch', source: `export { default } from './fetch.ts'` },
  {
    name: 'Hono',
    kind: 'fetch',
    source: `import { app } from './hono.ts'; export default { fetch: (request) => app.fetch(request) }`,
  },
  {
    name: 'node:http',
    kind: 'program',
    source: `import { server } from './node.ts'; server.listen(${port}, '127.0.0.1')`,
  },
  {
    name: 'Express',
    kind: 'program',
    source: `import { app } from './express.mjs'; app.listen(${port}, '127.0.0.1')`,
  },
  {
    name: 'Fastify',
    kind: 'program',
    source: `import { app } from './fastify.ts'; await app.listen({ port: ${port}, host: '127.0.0.1' })`,
  },
  {
    name: 'a process of its own',
    kind: 'program',
    source: `import './serve.ts'`,
    endsBySignal: true,
  },
];

interface WebRuntime extends RuntimePackage {
  readonly name: string;
  readonly serves: {
    /** Gives the arguments that serve a module at a port of loopback. */
    readonly [kind in Mounting['kind']]?: (
      module: string,
      port: number,
    ) => readonly string[] | Promise<readonly string[]>;
  };
}

const webRuntimes: readonly WebRuntime[] = [
  {
    name: 'Bun 1.4.5',
    package: 'bun@1.4.5',
    tellPath: ['bun', '--print', 'process.execPath'],
    serves: { fetch: (module) => [module], program: (module) => [module] },
  },
  {
    name: 'Deno 2.9.6',
    package: 'deno@2.9.6',
    tellPath: ['deno', 'eval', 'console.log(Deno.execPath())'],
    serves: {
      fetch: (module, at) => {
        const where = ['--host', '127.0.0.1', '--port', `${at}`];
        return ['serve', '--allow-all', ...where, module];
      },
      program: (module) => ['run', '--allow-all', module],
    },
  },
  {
    name: 'workerd 1.20260730.1',
    package: 'workerd@1.20260730.1',
    tellPath: ['which', 'workerd'],
    serves: { fetch: async (module, at) => ['serve', await buildWorker(module, at)] },
  },
];

/** A check for each of them and each example that it can run. */
export function webChecks(subject: Subject): readonly Check[] {
  const { folder, missing: notInstalled } = subject.beside('hono', 'express', 'fastify');
  return webRuntimes.flatMap((runtime) => {
    const { path: program = '', missing } = fetchRuntime(runtime);
    return mountings.flatMap((mounting) => {
      const argsOf = runtime.serves[mounting.kind];
      if (!argsOf) return [];
      const run = async () => {
        const at = await freePort();
        const args = await argsOf(await buildModule(folder, mounting), at);
        return served({ program, args, folder }, at, mounting);
      };
      return {
        name: `${runtime.name}, ${mounting.name}: serves clients of both eras`,
        missing: missing ?? notInstalled,
        run,
      };
    });
  });
}

interface Program {
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: string;
}

async function served(
  { program, args, folder }: Program,
  at: number,
  { endsBySignal = false }: Mounting,
): Promise<readonly string[]> {
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, PORT: `${at}`, BUN_PORT: `${at}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = once(child, 'exit') as Promise<[code: number | null, signal: string | null]>;
  let said = '';
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding('utf8').on('data', (text: string) => (said += text));
  }
  const url = new URL(`http://127.0.0.1:${at}/mcp`);
  const faults = [];
  try {
    await listening(url);
    for (const [era, greet] of Object.entries(clients)) {
      const answer = await greet(url).catch((error: unknown) => String(error));
      if (!answer.includes('Hello Ada, at /mcp')) faults.push(`${era}: ${answer}; ${said}`);
    }
  } catch (error) {
    faults.push(`${String(error)}; ${said}`);
  } finally {
    child.kill();
  }
  const [code, signal] = await exit;
  if (endsBySignal && code !== 0) faults.push(`It ended with ${signal ?? code}; ${said}`);
  return faults;
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

/** Its own code alone, beside the packages. */
async function buildModule(folder: string, { name, source }: Mounting): Promise<string> {
  const outfile = join(folder, `${name.replaceAll(/\W/g, '-')}.js`);
  await build({
    stdin: { contents: source, resolveDir: examples },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    // Without the paths of tsconfig.json, which lead to the sources.
    tsconfigRaw: {},
    packages: 'external',
    // The repository says of its modules that importing them does nothing; that of a program does all.
    ignoreAnnotations: true,
    logLevel: 'warning',
  });
  return outfile;
}

/** One module with everything, as tools for workers make it, and what serves it. */
async function buildWorker(entry: string, at: number): Promise<string> {
  await build({
    entryPoints: [entry],
    outfile: join(dirname(entry), 'worker.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    logLevel: 'warning',
  });
  const config = join(dirname(entry), 'worker.capnp');
  const socket = `(name = "http", address = "127.0.0.1:${at}", http = (), service = "main")`;
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
