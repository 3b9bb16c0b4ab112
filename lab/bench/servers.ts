/** Measured servers. All have the same tools with the same handlers; see `servers/asking.mjs`. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { storeKinds } from './tasks/stores.ts';

export interface Server {
  readonly name: string;
  /** Name of the measured package in its manifest; undefined without one. */
  readonly package: string | undefined;
  /** Module run by `node`. */
  readonly module: string;
  /** True if the benchmark installs its package. */
  readonly isPeer: boolean;
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Folder for builds and results of a run. */
export const buildFolder = here('.build/');
/** Folder in which peers are installed. */
export const benchFolder = here('.');

/** Name of the baseline in each suite. */
export const floorName = 'floor';
/** Name of our runtime in each suite. */
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

/** Stdio servers, in measuring order. */
export const stdioServers: readonly Server[] = [
  floor('floor'),
  ours('mcp-actors'),
  peer('mcp-lite', 'mcp-lite'),
  peer('tmcp', 'tmcp'),
  peer('sdk-1', '@modelcontextprotocol/sdk'),
  peer('sdk-2', '@modelcontextprotocol/server'),
  peer('fastmcp', 'fastmcp'),
];

/** HTTP servers, in measuring order. Hono does the same as the floor. */
export const httpServers: readonly Server[] = [
  floor('floor-http'),
  ours('mcp-actors-http'),
  peer('hono', 'hono', 'hono-http'),
  peer('mcp-lite', 'mcp-lite', 'mcp-lite-http'),
  peer('tmcp', 'tmcp', 'tmcp-http'),
  peer('sdk-1', '@modelcontextprotocol/sdk', 'sdk-1-http'),
  peer('sdk-2', '@modelcontextprotocol/server', 'sdk-2-http'),
];

/** Our server with each task store. */
export const taskServers: readonly Server[] = storeKinds
  .filter(({ isThere }) => isThere())
  .map(({ name }) => ({ ...ours('durable'), name }));

/** A peer that is a program, given by this module of its package. */
const program = (name: string, module: string): Server => ({
  name,
  package: name,
  module: here(`node_modules/${name}/${module}`),
  isPeer: true,
});

/** Bridges in front of the floor. The floor itself is measured without a bridge. */
export const bridgeServers: readonly Server[] = [
  floor('floor'),
  { ...ours('cli'), module: here('../../packages/cli/dist/cli.js') },
  { ...floor('proxy'), name: 'proxy' },
  program('supergateway', 'dist/index.js'),
  program('mcp-remote', 'dist/proxy.js'),
  program('mcp-proxy', 'dist/bin/mcp-proxy.mjs'),
];

/** Servers of a quick run: the baseline, ours, the leanest peer and the newest official one. */
export function quickOf(servers: readonly Server[]): readonly Server[] {
  return servers.filter(({ name, isPeer }) => !isPeer || ['mcp-lite', 'sdk-2'].includes(name));
}

/** Measured version from the installed manifest; undefined without one. */
export function versionOf(server: Server): string | undefined {
  if (server.package === undefined) return undefined;
  const manifest = server.isPeer
    ? here(`node_modules/${server.package}/package.json`)
    : here('../../package.json');
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string };
  return version;
}
