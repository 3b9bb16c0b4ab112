/** Runtimes that start the packed command and the small server. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { fetchRuntime } from '../../scripts/npm.ts';
import type { RuntimePackage } from '../../scripts/npm.ts';
import { probe } from './hosts.ts';
import { faultsOf } from './scenario.ts';
import type { Check, Launch } from './scenario.ts';
import { scenarios } from './subject.ts';
import type { Subject } from './subject.ts';

interface Runtime {
  readonly name: string;
  /** npm package with the runtime, or the path of an installed program. */
  readonly from: RuntimePackage | string;
  /** Flags between the program and the module. */
  readonly flags: readonly string[];
}

const nodePackage = (version: string): RuntimePackage => ({
  package: `node@${version}`,
  tellPath: ['node', '--print', 'process.execPath'],
});

const node = (version: string): Runtime => ({
  name: `Node ${version}`,
  from: nodePackage(version),
  flags: [],
});

const newestNode = '24.21.0';

/** The Node that runs the hosts, some of which need the newest. */
export const hostsNode = nodePackage(newestNode);

/** The Node that runs this process. */
export const runningNode: Runtime = {
  name: `Node ${process.versions.node}`,
  from: process.execPath,
  flags: [],
};

/** Tested runtimes in exact versions. */
export const runtimes: readonly Runtime[] = [
  node('20.20.2'),
  node('22.23.3'),
  node(newestNode),
  {
    name: 'Bun 1.4.5',
    from: { package: 'bun@1.4.5', tellPath: ['bun', '--print', 'process.execPath'] },
    flags: [],
  },
  {
    name: 'Deno 2.9.6',
    from: {
      package: 'deno@2.9.6',
      tellPath: ['deno', 'eval', 'console.log(Deno.execPath())'],
    },
    flags: ['run', '--allow-all'],
  },
];

/** Command lines of a runtime for our programs. */
function startedWith({ from, flags }: Runtime, subject: Subject) {
  const found: { readonly path?: string; readonly missing?: string } =
    typeof from === 'string' ? { path: from } : fetchRuntime(from);
  const { path: program = '', missing } = found;
  const launch = (...args: readonly string[]): Launch => ({
    command: program,
    args: [...flags, ...args],
    cwd: subject.app,
  });
  return {
    missing,
    workspace: launch(subject.command, 'workspace', subject.project),
    rootless: launch(subject.command, 'workspace'),
    lab: launch(subject.lab),
  };
}

/** Checks for every runtime that need no installed client. */
export function checksWithoutClient(subject: Subject, runtime: Runtime): readonly Check[] {
  const { missing, workspace, lab } = startedWith(runtime, subject);
  return [
    {
      name: `${runtime.name}, workspace: meets what the specification demands`,
      missing,
      run: () => demandsBroken(subject, workspace),
    },
    {
      name: `${runtime.name}, a server of one's own: a signal lets a running call finish`,
      missing,
      run: () => signalled(lab),
    },
  ];
}

/**
 * Checks for each runtime and each supported feature.
 *
 * @param client reason no client can run, if so
 */
export function runtimeChecks(
  subject: Subject,
  clientNode: string,
  noClient: string | undefined,
): readonly Check[] {
  return runtimes.flatMap((runtime) => {
    const { missing, ...launches } = startedWith(runtime, subject);
    const bench = { subject, node: clientNode };
    const client = scenarios(subject, launches, 'listed').map((scenario) => ({
      name: `${runtime.name}, ${scenario.name}`,
      missing: missing ?? noClient,
      run: async () => faultsOf(scenario, await probe('sdk-1', scenario.job, bench)),
    }));
    return [...client, ...checksWithoutClient(subject, runtime)];
  });
}

/** Runs `mcp-actors check` without random walks. */
async function demandsBroken(subject: Subject, server: Launch): Promise<readonly string[]> {
  const flags = ['check', '--json', '--walks', '0', '--', server.command, ...server.args];
  const options = { cwd: server.cwd, maxBuffer: 2 ** 26 };
  const finished = promisify(execFile)(process.execPath, [subject.command, ...flags], options);
  const { stdout } = await finished.catch((error: unknown) => {
    if (error instanceof Error && 'stdout' in error) return error as unknown as { stdout: string };
    throw error;
  });
  const { findings } = JSON.parse(stdout) as {
    readonly findings: readonly { readonly id: string; readonly breach?: { detail: string } }[];
  };
  if (findings.length === 0) return ['nothing was looked at'];
  return findings.flatMap(({ id, breach }) => (breach ? [`${id}: ${breach.detail}`] : []));
}

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: unknown;
}

/** Signals the server while a call waits for the client's roots, then answers the query. */
async function signalled({ command, args, cwd }: Launch): Promise<readonly string[]> {
  const child = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => {});
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const exit = once(child, 'exit');
  const late = setTimeout(() => child.kill('SIGKILL'), 20_000);
  const send = (message: object) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  let answer: unknown = undefined;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, method, result } = JSON.parse(line) as Message;
    if (id === 1) {
      send({ method: 'notifications/initialized' });
      const params = { name: 'ask', arguments: { kind: 'sampling', count: 1 } };
      send({ id: 2, method: 'tools/call', params });
    }
    if (id === 2) answer = result;
    if (method !== 'sampling/createMessage') return;
    child.kill('SIGTERM');
    const content = { type: 'text', text: 'Yes.' };
    send({ id, result: { model: 'none', role: 'assistant', content } });
  });
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: { sampling: {} },
    clientInfo: { name: 'signals', version: '1' },
  };
  send({ id: 1, method: 'initialize', params });
  const [code, signal] = (await exit) as [number | null, NodeJS.Signals | null];
  clearTimeout(late);
  return [
    ...(answer === undefined ? [`the call had no answer; stderr: ${stderr}`] : []),
    ...(code === 0 ? [] : [`the process ended with ${signal ?? code}; stderr: ${stderr}`]),
  ];
}
