/**
 * Installs the tested package as npm packs it, in its own folder, with a small server that uses it.
 */
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
  /** Folder with the installed package, from which hosts start so that npx finds the command. */
  readonly app: string;
  /** An empty home directory, so that hosts ignore the user's configuration. */
  readonly home: string;
  /** Path of the built command. */
  readonly command: string;
  /** Path of the small server. */
  readonly lab: string;
  /** Folder with one file, listed as root by hosts. */
  readonly project: string;
  /**
   * Creates a folder with the package and others, in the repository's versions unless specified; or
   * returns the reason it cannot.
   */
  beside(
    folder: string,
    ...packages: readonly string[]
  ): { readonly folder: string; readonly missing?: string };
  /** Output of `mcp-actors config`. */
  config(...args: readonly string[]): string;
  remove(): void;
}

/**
 * Packs and installs. Returns the reason if the registry is unreachable, and throws on other
 * errors.
 */
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

/** Content of the project's file. */
export const greeting = 'Good morning from the project.';

function npm(args: readonly string[], cwd: string) {
  return spawnSync('npm', [...args], {
    cwd,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
}

/** Adds the repository's version to a package name without one. */
function versioned(name: string): string {
  if (name.includes('@')) return name;
  const text = readFileSync(join(repository, 'package.json'), 'utf8');
  const { devDependencies } = JSON.parse(text) as {
    readonly devDependencies: { readonly [name: string]: string };
  };
  return `${name}@${devDependencies[name]}`;
}

/** Builds the server without its dependencies, like a user's compiler would. */
async function buildLab(app: string): Promise<string> {
  const outfile = join(app, 'lab.js');
  await build({
    entryPoints: [join(repository, 'examples/lab/server.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Ignore the paths of tsconfig.json, which point to the sources.
    tsconfigRaw: {},
    packages: 'external',
    logLevel: 'warning',
  });
  return outfile;
}

/** Command lines of the two servers, for hosts that discover them and for runtimes. */
export interface Launches {
  /** Serves the project. */
  readonly workspace: Launch;
  /** Gets no directory, so that the client's roots decide. */
  readonly rootless: Launch;
  readonly lab: Launch;
}

/** Roots behaviour of a client: lists the given root, lists none, or does not declare roots. */
export type RootsUse = 'listed' | 'empty' | 'undeclared';

/** Jobs for a client with the servers. */
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
