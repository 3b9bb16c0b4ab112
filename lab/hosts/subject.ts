/** What is tried: the package as npm packs and installs it, in a folder of its own, and a small server that uses it. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { outOfReach } from '../../scripts/npm.ts';
import type { Launch, Scenario } from './scenario.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));

export interface Subject {
  /** Where the package is installed, and where hosts are started: from here npx finds the command. */
  readonly app: string;
  /** An empty home, so that no host reads the configuration of the user. */
  readonly home: string;
  /** The built command, a module. */
  readonly command: string;
  /** The small server, a module. */
  readonly lab: string;
  /** The root that hosts list: a folder with one file. */
  readonly project: string;
  /**
   * A folder of its own with the package and others, in the versions of the repository's
   * dependencies or in those that they are named with; or why it cannot be had.
   */
  beside(
    folder: string,
    ...packages: readonly string[]
  ): { readonly folder: string; readonly missing?: string };
  /** What `mcp-actors config` prints. */
  config(...args: readonly string[]): string;
  remove(): void;
}

/** Packs and installs. Gives why that is not possible if the registry is out of reach, and throws otherwise. */
export async function installSubject(): Promise<Subject | string> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-actors-hosts-')));
  const [home, project] = ['home', 'project'].map((name) => join(base, name)) as [string, string];
  for (const folder of [home, project]) mkdirSync(folder);
  const remove = () => rmSync(base, { recursive: true, force: true, maxRetries: 3 });
  writeFileSync(join(project, 'greeting.txt'), `${greeting}\n`);
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', base];
  const packed = ['.', 'packages/cli'].map((folder) => {
    const { stdout } = npm(pack, join(repository, folder));
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
    return join(base, filename);
  });
  const install = (name: string, others: readonly string[] = []) => {
    const folder = join(base, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
    const packages = [...packed, ...['rxjs', 'xstate', ...others].map(versioned)];
    const { status, stderr } = npm(['install', ...installFlags, ...packages], folder);
    if (status === 0) return { folder };
    if (outOfReach.test(stderr)) return { folder, missing: unreachable };
    remove();
    throw new Error(stderr);
  };
  const { folder: app, missing } = install('app');
  if (missing !== undefined) {
    remove();
    return missing;
  }
  const command = join(app, 'node_modules', '@mcp-actors', 'cli', 'dist', 'cli.js');
  const config = (...args: readonly string[]) => {
    const run = spawnSync(process.execPath, [command, 'config', ...args], { encoding: 'utf8' });
    if (run.status !== 0) throw new Error(run.stderr);
    return run.stdout;
  };
  const beside = (name: string, ...others: readonly string[]) => install(name, others);
  return { app, home, command, lab: await buildLab(app), project, beside, config, remove };
}

const installFlags = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
const unreachable = 'the registry is out of reach, and the cache has not everything';

/** What is in the project's file. */
export const greeting = 'Good morning from the project.';

function npm(args: readonly string[], cwd: string) {
  return spawnSync('npm', [...args], {
    cwd,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
}

/** A package in the version of the repository, unless it is named with one. */
function versioned(name: string): string {
  if (name.includes('@')) return name;
  const text = readFileSync(join(repository, 'package.json'), 'utf8');
  const { devDependencies } = JSON.parse(text) as {
    readonly devDependencies: { readonly [name: string]: string };
  };
  return `${name}@${devDependencies[name]}`;
}

/** Its own code alone, beside the package: what a user's compiler would make of it. */
async function buildLab(app: string): Promise<string> {
  const outfile = join(app, 'lab.js');
  await build({
    entryPoints: [join(repository, 'examples/lab/server.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Without the paths of tsconfig.json, which lead to the sources.
    tsconfigRaw: {},
    packages: 'external',
    logLevel: 'warning',
  });
  return outfile;
}

/** How the two servers are started, by a host that finds them or by a runtime that is given them. */
export interface Launches {
  /** Serves the project. */
  readonly workspace: Launch;
  /** Is given no directory, so that the client's roots choose. */
  readonly rootless: Launch;
  readonly lab: Launch;
}

/** What a client does about roots: it lists the one that it is given, or none, or does not declare to have any. */
export type RootsUse = 'listed' | 'empty' | 'undeclared';

/** What a client is asked to do with the servers. */
export function scenarios(
  { project }: Subject,
  launches: Launches,
  roots: RootsUse,
): readonly Scenario[] {
  const root = pathToFileURL(project).href;
  const known = { listed: root, empty: 'known', undeclared: 'undeclared' }[roots];
  const workspace: Scenario = {
    name: 'workspace: lists, reads and searches; the model sees why a call failed',
    job: {
      launch: launches.workspace,
      root,
      calls: [
        { tool: 'read_file', args: { path: 'greeting.txt' } },
        { tool: 'search_text', args: { pattern: 'morning' } },
        { tool: 'read_file', args: { path: 'gone.txt' } },
      ],
    },
    tools: ['workspace_info', 'list_directory', 'find_files', 'search_text', 'read_file'],
    expected: [greeting, greeting, 'NOT_FOUND'],
  };
  const lab: Scenario = {
    name: `a server of one's own: lists, calls, and the server sees the client's roots (${roots})`,
    job: {
      launch: launches.lab,
      root,
      calls: [
        { tool: 'echo', args: { message: 'Hello again' } },
        { tool: 'list_roots', args: {} },
      ],
    },
    tools: ['list_roots', 'slow', 'echo', 'ask'],
    expected: ['Hello again', known],
  };
  if (roots !== 'listed') return [workspace, lab];
  const rooted: Scenario = {
    name: "workspace: works in the client's root",
    job: { launch: launches.rootless, root, calls: [{ tool: 'workspace_info', args: {} }] },
    tools: [],
    expected: [project],
  };
  return [workspace, rooted, lab];
}
