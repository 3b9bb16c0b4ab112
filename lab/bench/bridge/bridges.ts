/** Command lines that put each bridge between a host and a server. */
import { fileURLToPath } from 'node:url';
import { freePort } from '../http/redis-server.ts';
import { ourName } from '../servers.ts';
import type { Server } from '../servers.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The floor server behind all bridges, over stdio and over HTTP. */
export const floors = {
  stdio: here('../servers/floor.mjs'),
  http: here('../servers/floor-http.mjs'),
};

/**
 * The server behind the bridge, as `node` arguments or as its URL; and the bridge's own address
 * over HTTP.
 */
interface Between {
  readonly server: readonly string[];
  readonly port: number;
}

type ArgsOf = (between: Between) => readonly string[];

const node = process.execPath;
const quiet = ['--log-level', 'error'];

/**
 * `stdio`: host and server over stdio. `http`: host over HTTP, server launched. `remote`: host over
 * stdio, server at a URL. A missing bridge does not support the topology.
 */
const ways: { readonly [way in Way]: { readonly [bridge: string]: ArgsOf } } = {
  stdio: {
    [ourName]: ({ server }) => ['bridge', ...quiet, '--', node, ...server],
    proxy: ({ server }) => server,
  },
  http: {
    [ourName]: ({ server, port }) => [
      ...['bridge', '--http', `127.0.0.1:${port}`],
      ...[...quiet, '--', node, ...server],
    ],
    supergateway: ({ server, port }) => [
      ...['--stdio', [node, ...server].map((word) => `'${word}'`).join(' ')],
      ...['--outputTransport', 'streamableHttp', '--stateful'],
      ...['--port', `${port}`, '--logLevel', 'none'],
    ],
    'mcp-proxy': ({ server, port }) => [
      ...['--port', `${port}`, '--host', '127.0.0.1', '--server', 'stream'],
      ...['--', node, ...server],
    ],
  },
  remote: {
    [ourName]: ({ server }) => ['bridge', ...quiet, ...server],
    supergateway: ({ server }) => ['--streamableHttp', ...server, '--logLevel', 'none'],
    'mcp-remote': ({ server }) => server,
  },
};

export type Way = 'stdio' | 'http' | 'remote';

/** Bridges that support a topology. */
export const bridgesOf = (way: Way): readonly string[] => Object.keys(ways[way]);

/** Command line of a bridge for `node`, and its URL if it listens over HTTP. */
export async function startOf(
  way: Way,
  { name, module }: Server,
  server: readonly string[],
): Promise<{ readonly args: readonly string[]; readonly url: string }> {
  const port = way === 'http' ? await freePort() : 0;
  const argsOf = ways[way][name];
  if (!argsOf) throw new Error(`${name} has no way ${way}`);
  return { args: [module, ...argsOf({ server, port })], url: `http://127.0.0.1:${port}/mcp` };
}
