/**
 * A bridge to two servers that npx must download first: a host that lists once gets the tools of
 * both.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { outOfReach } from '../../scripts/npm.ts';
import { probe, versionOf } from './hosts.ts';
import type { Bench } from './hosts.ts';
import { faultsOf } from './scenario.ts';
import type { Check, Scenario } from './scenario.ts';
import { greeting } from './subject.ts';

const packages = {
  everything: '@modelcontextprotocol/server-everything@2026.8.31',
  files: '@modelcontextprotocol/server-filesystem@2026.8.31',
};

const clients = [
  { client: 'sdk-1', package: '@modelcontextprotocol/sdk', era: 'legacy' },
  { client: 'sdk-2-modern', package: '@modelcontextprotocol/client', era: '2026-07-28' },
];

/**
 * Checks for each official client, with an empty npm cache.
 *
 * @param noHosts reason the clients cannot be tested
 * @param isLarge true to run them at all
 */
export function coldChecks(
  bench: Bench,
  noHosts: string | undefined,
  isLarge: boolean,
): readonly Check[] {
  // The bridge holds the first list for 15 s, but a busy machine may need longer to install two
  // servers.
  const large = isLarge ? undefined : 'it is large: npm run lab -- hosts --large';
  const missing = large ?? noHosts ?? unreachable();
  return clients.map(({ client, package: name, era }) => ({
    name: `${name} ${versionOf(name)}, ${era}: the first list has the tools of two servers behind a cold npx`,
    missing,
    run: async () => {
      const cache = mkdtempSync(join(tmpdir(), 'mcp-actors-cold-'));
      try {
        const scenario = scenarioWith(bench, cache);
        return faultsOf(scenario, await probe(client, scenario.job, bench));
      } finally {
        rmSync(cache, { recursive: true, force: true, maxRetries: 3 });
      }
    },
  }));
}

function scenarioWith({ subject: { app, command, project } }: Bench, cache: string): Scenario {
  // Hosts run with a home directory without npm settings.
  const env = { npm_config_cache: cache, npm_config_registry: npm('config', 'get', 'registry') };
  const launched = (name: string, ...args: readonly string[]) => ({
    command: 'npx',
    args: ['-y', name, ...args],
    env,
  });
  const mcpServers = {
    everything: launched(packages.everything),
    files: launched(packages.files, project),
  };
  const file = join(cache, 'mcp.json');
  writeFileSync(file, JSON.stringify({ mcpServers }));
  return {
    name: 'cold npx',
    job: {
      launch: { command: process.execPath, args: [command, 'bridge', file], cwd: app },
      root: pathToFileURL(project).href,
      calls: [
        { tool: 'everything__echo', args: { message: 'Hello again' } },
        { tool: 'files__read_text_file', args: { path: join(project, 'greeting.txt') } },
      ],
    },
    tools: ['everything__echo', 'files__read_text_file'],
    expected: ['Hello again', greeting],
  };
}

/** Reason the servers cannot be downloaded. */
function unreachable(): string | undefined {
  for (const name of Object.values(packages)) {
    const { status, stderr } = runNpm('view', name, 'version');
    if (status === 0) continue;
    if (!outOfReach.test(stderr)) throw new Error(stderr);
    return `the registry is out of reach: ${name}`;
  }
  return undefined;
}

function npm(...args: readonly string[]): string {
  const { status, stdout, stderr } = runNpm(...args);
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

function runNpm(...args: readonly string[]) {
  return spawnSync('npm', args, { encoding: 'utf8', shell: process.platform === 'win32' });
}
