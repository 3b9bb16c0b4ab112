/** HTTP mounting examples in runtimes other than Node, each serving the official clients. */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { fetchRuntime } from '../../scripts/npm.ts';
import type { RuntimePackage } from '../../scripts/npm.ts';
import type { Check } from './scenario.ts';
import { buildModule, freePort, served } from './serving.ts';
import type { Subject } from './subject.ts';

/** An example, and how to build a module for a runtime from it. */
interface Mounting {
  readonly name: string;
  /**
   * `fetch`: a module whose `fetch` the runtime calls. `program`: a program that listens at `PORT`
   * itself.
   */
  readonly kind: 'fetch' | 'program';
  readonly source: string;
  /** True if it exits gracefully on SIGTERM. */
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
    /** Returns arguments for serving a module on a loopback port. */
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

/** Checks for each runtime and each example it supports. */
export function webChecks(subject: Subject): readonly Check[] {
  const { folder, missing: notInstalled } = subject.beside('web', 'hono', 'express', 'fastify');
  return webRuntimes.flatMap((runtime) => {
    const { path: program = '', missing } = fetchRuntime(runtime);
    return mountings.flatMap((mounting) => {
      const { name, kind, source, endsBySignal } = mounting;
      const argsOf = runtime.serves[kind];
      if (!argsOf) return [];
      const run = async () => {
        const at = await freePort();
        const module = join(folder, `${name.replaceAll(/\W/g, '-')}.js`);
        await buildModule(module, source);
        return served({ program, args: await argsOf(module, at), folder, endsBySignal }, at);
      };
      return {
        name: `${runtime.name}, ${name}: serves clients of both eras`,
        missing: missing ?? notInstalled,
        run,
      };
    });
  });
}

/** Bundles everything into one module, like tools for workers do, and wraps it in a server. */
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
