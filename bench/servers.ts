/** The servers that are measured. All have the same tools with the same handlers; see `servers/asking.mjs`. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

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

const peer = (name: string, packageName: string): Server => ({
  name,
  package: packageName,
  module: here(`servers/${name}.mjs`),
  isPeer: true,
});

/** What everything is compared with. */
const floor: Server = {
  name: 'floor',
  package: undefined,
  module: here('servers/floor.mjs'),
  isPeer: false,
};

/** The runtime itself. */
const ours: Server = {
  name: 'mcp-actors',
  package: 'mcp-actors',
  module: here('.build/mcp-actors.mjs'),
  isPeer: false,
};

/** In the order in which they take their turns. */
export const servers: readonly Server[] = [
  floor,
  ours,
  peer('mcp-lite', 'mcp-lite'),
  peer('tmcp', 'tmcp'),
  peer('sdk-1', '@modelcontextprotocol/sdk'),
  peer('sdk-2', '@modelcontextprotocol/server'),
  peer('fastmcp', 'fastmcp'),
];

/** Those of a quick run: what is compared with, ours, the leanest peer and the newest official one. */
export const quickServers = servers.filter(({ name }) =>
  ['floor', 'mcp-actors', 'mcp-lite', 'sdk-2'].includes(name),
);

/** The version that a run measures, from the installed manifest; undefined for what has none. */
export function versionOf(server: Server): string | undefined {
  if (server.package === undefined) return undefined;
  const manifest = server.isPeer
    ? here(`node_modules/${server.package}/package.json`)
    : here('../package.json');
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string };
  return version;
}
