/** Hosts and client libraries, each started with the configuration that the command prints. */
import { execFile, fork } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { faultsOf } from './scenario.ts';
import type { Check, Job, Launch, Seen } from './scenario.ts';
import { scenarios } from './subject.ts';
import type { RootsUse, Subject } from './subject.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Folder in which hosts are installed. */
export const hostsFolder = here('.');

/** Time limit of one host for one job, ms. */
const jobTimeoutMs = 300_000;

/** Environment in which a host runs. */
export interface Bench {
  readonly subject: Subject;
  /** A Node recent enough for all hosts. */
  readonly node: string;
}

interface Host {
  readonly name: string;
  /** Package whose version is reported. */
  readonly package: string;
  readonly roots: RootsUse;
  run(job: Job, bench: Bench): Promise<Seen>;
}

/** A library, run in its own process. */
function library(name: string, packageName: string, roots: RootsUse): Host {
  const run = (job: Job, bench: Bench) => probe(name, job, bench);
  return { name: packageName, package: packageName, roots, run };
}

/** Connects, lists and calls through a module in `clients/`. */
export function probe(client: string, job: Job, { node, subject }: Bench): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const child = fork(here('probe.mjs'), [client, JSON.stringify(job)], {
      cwd: subject.app,
      execPath: node,
      execArgv: [],
      env: environment({ node, subject }),
      silent: true,
      timeout: jobTimeoutMs,
    });
    let output = '';
    let seen: Seen | undefined = undefined;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    child.on('message', (message) => (seen = message as Seen));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (seen && code === 0) resolve(seen);
      else reject(new Error(`${client} ended with ${signal ?? code}: ${output}`));
    });
  });
}

/** Hosts that call tools. */
const hosts: readonly Host[] = [
  {
    name: 'MCP Inspector, --cli',
    package: '@modelcontextprotocol/inspector',
    roots: 'empty',
    run: async ({ launch, calls }, bench) => {
      const file = configurationFile(launch, bench.subject);
      const script = installed(
        '@modelcontextprotocol/inspector',
        'clients/launcher/build/index.js',
      );
      const inspect = (...args: readonly string[]) =>
        run(bench, [script, '--cli', '--config', file, '--server', 'tried', '--method', ...args]);
      const listed = toolNames(await inspect('tools/list'));
      const handed: string[] = [];
      for (const { tool, args } of calls) {
        const pairs = Object.entries(args).flatMap(([name, value]) => [
          '--tool-arg',
          `${name}=${String(value)}`,
        ]);
        handed.push(await inspect('tools/call', '--tool-name', tool, ...pairs));
      }
      return { tools: listed, handed };
    },
  },
  {
    name: 'mcporter',
    package: 'mcporter',
    roots: 'undeclared',
    run: async ({ launch, calls }, bench) => {
      const file = configurationFile(launch, bench.subject);
      const port = (...args: readonly string[]) =>
        run(bench, [installed('mcporter', 'dist/cli.js'), '--config', file, ...args]);
      const listed = toolNames(await port('list', 'tried', '--json'));
      const handed: string[] = [];
      for (const { tool, args } of calls) {
        handed.push(await port('call', `tried.${tool}`, '--args', JSON.stringify(args)));
      }
      return { tools: listed, handed };
    },
  },
  library('ai-sdk', '@ai-sdk/mcp', 'undeclared'),
  library('ai-sdk-recipe', 'ai', 'undeclared'),
  library('langchain', '@langchain/mcp-adapters', 'undeclared'),
  library('openai-agents', '@openai/agents', 'undeclared'),
  library('mastra', '@mastra/mcp', 'undeclared'),
  library('sdk-1', '@modelcontextprotocol/sdk', 'listed'),
  library('sdk-2', '@modelcontextprotocol/client', 'listed'),
];

/**
 * Hosts that only call tools for signed-in users. Without one they read a configuration and
 * connect.
 */
const configured: readonly {
  readonly name: string;
  readonly package: string;
  readonly what: string;
  faults(bench: Bench): Promise<readonly string[]>;
}[] = [
  {
    name: 'Claude Code',
    package: '@anthropic-ai/claude-code',
    what: 'takes the line as it is printed, and connects',
    faults: async (bench) => {
      const line = bench.subject.config('claude-code', bench.subject.project);
      const script = installed('@anthropic-ai/claude-code', 'cli-wrapper.cjs');
      const claude = `claude() { '${bench.node}' '${script}' "$@"; }`;
      const said = await run(bench, ['-c', `${claude}\n${line}\nclaude mcp list`], 'sh');
      // It uses 2026-07-28, where a server can only query roots during a call.
      return unless(/^project-files: .*Connected$/m, said);
    },
  },
  {
    name: 'Gemini CLI',
    package: '@google/gemini-cli',
    what: 'takes the block as it is printed, and connects',
    faults: async (bench) => {
      const { app, config, project } = bench.subject;
      mkdirSync(join(app, '.gemini'), { recursive: true });
      writeFileSync(join(app, '.gemini', 'settings.json'), config('gemini', project));
      const script = installed('@google/gemini-cli', 'bundle/gemini.js');
      const said = await run(bench, [script, 'mcp', 'list']);
      // Other hosts start in this folder as well and would read it.
      rmSync(join(app, '.gemini'), { recursive: true });
      return unless(/project-files: .* - Connected$/m, said);
    },
  },
];

/**
 * Checks for each host and each job.
 *
 * @param missing reason the hosts cannot be tested
 */
export function hostChecks(bench: Bench, missing: string | undefined): readonly Check[] {
  const { subject } = bench;
  const { app, project } = subject;
  const entry = (...args: readonly string[]): Launch => {
    const { mcpServers } = JSON.parse(subject.config('mcpServers', ...args)) as {
      readonly mcpServers: { readonly 'project-files': Omit<Launch, 'cwd'> };
    };
    return { ...mcpServers['project-files'], cwd: app };
  };
  const workspace = entry(project);
  const launches = {
    workspace,
    rootless: { ...workspace, args: workspace.args.filter((arg) => arg !== project) },
    lab: { command: process.execPath, args: [subject.lab], cwd: app },
  };
  const calling = hosts.flatMap((host) =>
    scenarios(subject, launches, host.roots).map((scenario) => ({
      name: `${host.name} ${versionOf(host.package)}, ${scenario.name}`,
      missing,
      run: async () => faultsOf(scenario, await host.run(scenario.job, bench)),
    })),
  );
  const connecting = configured.map((host) => ({
    name: `${host.name} ${versionOf(host.package)}, ${host.what}`,
    missing,
    run: () => host.faults(bench),
  }));
  return [...calling, ...connecting];
}

/** Read from the lockfile's manifest, so that skipped hosts have a version as well. */
export function versionOf(packageName: string): string {
  const { dependencies } = JSON.parse(readFileSync(here('package.json'), 'utf8')) as {
    readonly dependencies: { readonly [name: string]: string };
  };
  return dependencies[packageName] as string;
}

/** A file of a host's package. */
export function installed(packageName: string, path: string): string {
  return join(hostsFolder, 'node_modules', packageName, path);
}

function configurationFile({ command, args }: Launch, { app }: Subject): string {
  // mcporter starts a server in the folder of its configuration.
  const file = join(app, 'tried.json');
  writeFileSync(file, JSON.stringify({ mcpServers: { tried: { command, args } } }));
  return file;
}

/** Runs a program to its end and returns its output. A failed call has its own exit code. */
export async function run(
  bench: Bench,
  args: readonly string[],
  program = bench.node,
  more: NodeJS.ProcessEnv = {},
): Promise<string> {
  const env = { ...environment(bench), ...more };
  const options = { cwd: bench.subject.app, env, timeout: jobTimeoutMs };
  const running = promisify(execFile)(program, [...args], options);
  // Some hosts read piped input to its end.
  running.child.stdin?.end();
  const { stdout, stderr } = await running.catch((error: unknown) => {
    if (error instanceof Error && 'stdout' in error) return error as unknown as Printed;
    throw error;
  });
  return stdout + stderr;
}

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

function environment({ subject: { home }, node }: Bench): NodeJS.ProcessEnv {
  return {
    ...process.env,
    HOME: home,
    USERPROFILE: home,
    PATH: [dirname(node), process.env['PATH']].join(delimiter),
    // Disables telemetry and similar requests of hosts.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    MASTRA_TELEMETRY_DISABLED: '1',
    MCP_INSPECTOR_SECRET_STORE: 'memory',
  };
}

/** Tool names in a JSON list. */
function toolNames(text: string): readonly string[] {
  const start = text.indexOf('{');
  const json = text.slice(start, text.lastIndexOf('\n}') + 2);
  try {
    const { tools } = JSON.parse(json) as { readonly tools: readonly { readonly name: string }[] };
    return tools.map(({ name }) => name);
  } catch (error) {
    throw new Error(`No list of tools: ${text}`, { cause: error });
  }
}

function unless(pattern: RegExp, text: string): readonly string[] {
  return pattern.test(text) ? [] : [`Expected ${pattern.source} in: ${text}`];
}
