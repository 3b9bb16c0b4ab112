/**
 * Runs the conformance suite against servers behind `mcp-actors bridge --http` and against the same
 * servers directly: a scenario that passes directly must pass through the bridge. Scenarios that
 * only pass through the bridge, such as checks of its endpoint, are reported only.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { freePort } from '../../test/tooling/free-port.ts';
import { readOutcomes } from './report.ts';
import type { KnownReasons } from './report.ts';
import { runAlone, runSuite } from './suite.ts';
import type { Suite } from './suite.ts';

/** Commands of a server on both of its transports. */
interface Subject {
  /** @param port port to listen on */
  readonly http: (port: number) => { readonly args: readonly string[]; readonly path: string };
  readonly stdio: readonly string[];
}

const tsx = ['--import', 'tsx'];
const official = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js';

const subjects: { readonly [name: string]: Subject } = {
  ours: {
    http: (port) => ({
      args: [...tsx, 'examples/everything/http.ts', '--port', String(port)],
      path: '/mcp',
    }),
    stdio: [...tsx, 'examples/everything/stdio.ts'],
  },
  everything: {
    http: () => ({ args: [official, 'streamableHttp'], path: '/mcp' }),
    stdio: [official, 'stdio'],
  },
};

/** Scenarios that pass directly but not through the bridge, with reasons, by server transport. */
const known: { readonly [transport: string]: KnownReasons } = {
  stdio: {
    'server-sse-polling':
      'the server ends the HTTP connection that a call came on, and on stdio no call has one: what it does leaves no trace',
  },
};

/** Time limit for a server to start, ms. */
const startTimeoutMs = 120_000;

/** Starts Node and waits until a port responds. */
async function start(
  cwd: string,
  port: number,
  args: readonly string[],
): Promise<{ end(): Promise<unknown> }> {
  const env = { ...process.env, PORT: String(port) };
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = once(child, 'exit');
  const said: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
  const end = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  const untilMs = Date.now() + startTimeoutMs;
  const has = { ended: false };
  void exited.then(() => (has.ended = true));
  for (;;) {
    const answered = await fetch(`http://127.0.0.1:${port}/`).then(
      (response) => response.body?.cancel().then(() => true) ?? true,
      () => false,
    );
    if (answered) return { end };
    if (has.ended || Date.now() > untilMs) {
      await end();
      throw new Error(`It has not started: node ${args.join(' ')}\n${said.join('\n')}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

type Outcomes = ReadonlyMap<string, boolean>;

const outcomesAt = async (suite: Suite, url: string, revision: string): Promise<Outcomes> =>
  readOutcomes((await runSuite(suite, 'server', '--url', url, '--requirements', revision)).output);

/**
 * Compares direct results with those through a bridge.
 *
 * @param wanted a server, or a server and its transport such as `everything/stdio`; default all
 * @returns lines for the report, and whether every difference has a known reason
 */
export async function runBridge(
  suite: Suite,
  revisions: readonly string[],
  wanted = '',
): Promise<{ readonly lines: readonly string[]; readonly passed: boolean }> {
  const lines: string[] = [];
  let passed = true;
  for (const [name, subject] of Object.entries(subjects)) {
    const fronts = ['stdio', 'http'].filter((way) => `${name}/${way}`.startsWith(wanted));
    if (fronts.length === 0) continue;
    const port = await freePort();
    const { args, path } = subject.http(port);
    const past = `http://127.0.0.1:${port}${path}`;
    const server = await start(suite.cwd, port, args);
    try {
      const expected = new Map<string, Outcomes>();
      for (const each of revisions) expected.set(each, await outcomesAt(suite, past, each));
      for (const way of fronts) {
        const at = await freePort();
        const behind = way === 'http' ? [past] : ['--', process.execPath, ...subject.stdio];
        const command = ['packages/cli/dist/cli.js', 'bridge', '--log-level', 'silent'];
        const bridge = await start(suite.cwd, at, [...command, '--http', String(at), ...behind]);
        const through = `http://127.0.0.1:${at}/mcp`;
        try {
          for (const [revision, outcomes] of expected) {
            const found = await outcomesAt(suite, through, revision);
            const isLost = async (scenario: string) =>
              outcomes.get(scenario) === true &&
              found.get(scenario) !== true &&
              // Its server may have been slow to start.
              (await runAlone(suite, through, scenario, revision)).passed === 0;
            const lost: string[] = [];
            for (const scenario of outcomes.keys()) {
              if (await isLost(scenario)) lost.push(scenario);
            }
            const gained = [...found].filter(([each, ok]) => ok && outcomes.get(each) !== true);
            const passing = [...outcomes.values()].filter(Boolean).length;
            lines.push(
              `bridge ${name}/${way} ${revision}: ${passing} of ${outcomes.size} scenarios pass past it, ${passing - lost.length} of these through it, and ${gained.length} more`,
              ...lost.map(
                (each) => `  ${each}: ${known[way]?.[each] ?? 'fails through the bridge alone'}`,
              ),
            );
            // An incomplete run has compared nothing.
            if (outcomes.size === 0 || found.size !== outcomes.size) passed = false;
            if (lost.some((each) => known[way]?.[each] === undefined)) passed = false;
          }
        } finally {
          await bridge.end();
        }
      }
    } finally {
      await server.end();
    }
  }
  return { lines, passed: passed && lines.length > 0 };
}
