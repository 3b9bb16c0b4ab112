/** The servers that are measured. All have the same tools with the same handlers; see `servers/asking.mjs`. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { storeKinds } from './tasks/stores.ts';

export interface Server {
  readonly name: string;
  /** The package that is measured, as its own manifest names it; undefined where there is none. */
  readonly package: string | undefined;
  /** The module that `node` runs. */
  readonly module: string;
  /** True where its package is installed by the benchmark. */
  readonly isPeer: boolean;
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Where what is built for a run, and its results, go. */
export const buildFolder = here('.build/');
/** Where peers are installed. */
export const benchFolder = here('.');

/** What everything is compared with, under this name in each suite. */
export const floorName = 'floor';
/** The runtime itself, under this name in each suite. */
export const ourName = 'mcp-actors';

const floor = (module: string): Server => ({
  name: floorName,
  package: undefined,
  module: here(`servers/${module}.mjs`),
  isPeer: false,
});

const ours = (module: string): Server => ({
  name: ourName,
  package: 'mcp-actors',
  module: here(`.build/${module}.mjs`),
  isPeer: false,
});

const peer = (name: string, packageName: string, module = name): Server => ({
  name,
  package: packageName,
  module: here(`servers/${module}.mjs`),
  isPeer: true,
});

/** Over stdio, in the order in which they take their turns. */
export const stdioServers: readonly Server[] = [
  floor('floor'),
  ours('mcp-actors'),
  peer('mcp-lite', 'mcp-lite'),
  peer('tmcp', 'tmcp'),
  peer('sdk-1', '@modelcontextprotocol/sdk'),
  peer('sdk-2', '@modelcontextprotocol/server'),
  peer('fastmcp', 'fastmcp'),
];

/** Over HTTP, likewise. Hono does what the floor does. */
export const httpServers: readonly Server[] = [
  floor('floor-http'),
  ours('mcp-actors-http'),
  peer('hono', 'hono', 'hono-http'),
  peer('mcp-lite', 'mcp-lite', 'mcp-lite-http'),
  peer('tmcp', 'tmcp', 'tmcp-http'),
  peer('sdk-1', '@modelcontextprotocol/sdk', 'sdk-1-http'),
  peer('sdk-2', '@modelcontextprotocol/server', 'sdk-2-http'),
];

/** The same server with each store of tasks. */
export const taskServers: readonly Server[] = storeKinds
  .filter(({ isThere }) => isThere())
  .map(({ name }) => ({ ...ours('durable'), name }));

/** A peer that is a program, which this module of its package is. */
const program = (name: string, module: string): Server => ({
  name,
  package: name,
  module: here(`node_modules/${name}/${module}`),
  isPeer: true,
});

/** Bridges, before the floor. The floor is measured alone: what it costs to ask it without one. */
export const bridgeServers: readonly Server[] = [
  floor('floor'),
  { ...ours('cli'), module: here('../../packages/cli/dist/cli.js') },
  { ...floor('proxy'), name: 'proxy' },
  program('supergateway', 'dist/index.js'),
  program('mcp-remote', 'dist/proxy.js'),
  program('mcp-proxy', 'dist/bin/mcp-proxy.mjs'),
];

/** Of those, the ones of a quick run: what is compared with, ours, the leanest peer and the newest official one. */
export function quickOf(servers: readonly Server[]): readonly Server[] {
  return servers.filter(({ name, isPeer }) => !isPeer || ['mcp-lite', 'sdk-2'].includes(name));
}

/** The version that a run measures, from the installed manifest; undefined for what has none. */
export function versionOf(server: Server): string | undefined {
  if (server.package === undefined) return undefined;
  const manifest = server.isPeer
    ? here(`node_modules/${server.package}/package.json`)
    : here('../../package.json');
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string };
  return version;
}
