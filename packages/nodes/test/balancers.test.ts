/**
 * Load balancers in front of nodes, configured as in docs/http.md and round robin, with stable
 * nodes and during a rolling replacement.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../src/index.ts';
import { listenHttp } from '../../serve/src/http-serving.ts';
import { AuthorizationServer } from '../../http/test/authorization-server.ts';
import { begin, postHeaders } from '../../http/test/raw-client.ts';
import type { RawSession } from '../../http/test/raw-client.ts';
import { MemoryNodes } from './memory-stores.ts';
import { serveHttp } from '../../http/test/serving.ts';
import { stateKeys } from './redis-nodes.ts';
import { freePort } from '../../../test/tooling/free-port.ts';
import { findProgram } from './redis-server.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/http.md'), 'utf8');

/** The documented nginx configuration for one server. */
const documentedAlone = (server: URL): string =>
  page
    .split('```')
    .filter(
      (block) => block.startsWith('nginx\n') && block.includes('proxy_pass http://127.0.0.1:3000;'),
    )
    .map((block) => block.slice('nginx'.length).replaceAll('127.0.0.1:3000', server.host))
    .join('');

/** A documented configuration with these nodes. */
function documented(language: string, nodes: readonly URL[]): string {
  const blocks = page.split('```').filter((block) => block.startsWith(`${language}\n`));
  const block = blocks.find((each) => each.includes('10.0.0.1:3000')) ?? '';
  const text = block.slice(language.length);
  return text.replaceAll(
    /10\.0\.0\.(\d):3000/g,
    (_, n: string) => nodes[Number(n) - 1]?.host ?? '',
  );
}

/** How requests are balanced: sticky by session, as documented, or round robin. */
type Spread = 'by session' | 'by turns';

interface Balancer {
  readonly program: string;
  configuration(nodes: readonly URL[], port: number, folder: string, spread: Spread): string;
  /** Command-line flags that name the configuration. */
  flags(file: string, folder: string): readonly string[];
  /** Signal that reloads the configuration. */
  readonly reload: NodeJS.Signals;
}

/** An nginx configuration with these `http` blocks and locations. */
const nginx = (port: number, folder: string, blocks: string, locations: string): string => `
  daemon off; pid ${folder}/pid; error_log stderr; worker_processes 1;
  events {}
  http {
    access_log off;
    ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join('\n')}
    ${blocks}
    server {
      listen 127.0.0.1:${port};
      ${locations}
    }
  }`;

const startsNginx: Pick<Balancer, 'program' | 'flags' | 'reload'> = {
  program: 'nginx',
  reload: 'SIGHUP',
  flags: (file, folder) => ['-c', file, '-p', folder],
};

const balancers: readonly Balancer[] = [
  {
    ...startsNginx,
    configuration: (nodes, port, folder, spread) =>
      nginx(
        port,
        folder,
        spread === 'by session'
          ? listed(documented('nginx', nodes), nodes, 'nginx')
          : `upstream mcp { ${nodes.map(({ host }) => `server ${host};`).join(' ')} }`,
        `location / {
          proxy_pass http://mcp;
          proxy_set_header Host $http_host;
          proxy_buffering off;
          add_header x-node $upstream_addr always;
        }`,
      ),
  },
  {
    program: 'haproxy',
    configuration: (nodes, port, folder, spread) => `
global
  stats socket ${folder}/socket mode 600 level admin expose-fd listeners
defaults
  mode http
  timeout connect 10s
  timeout client 60s
  timeout server 60s
frontend all
  bind 127.0.0.1:${port}
  http-response set-header x-node %si:%sp
  default_backend mcp
${
  spread === 'by session'
    ? listed(documented('haproxy', nodes), nodes, 'haproxy')
    : `backend mcp\n  balance roundrobin\n${nodes.map(({ host }, n) => `  server n${n} ${host}`).join('\n')}`
}
`,
    flags: (file) => ['-W', '-f', file],
    reload: 'SIGUSR2',
  },
];

/** The documented configuration has two nodes; more are added. */
function listed(text: string, nodes: readonly URL[], language: string): string {
  const more = nodes.slice(2).map(({ host }, n) => {
    return language === 'nginx' ? `  server ${host};\n` : `  server more${n} ${host}\n`;
  });
  return language === 'nginx'
    ? text.replace(/\}\s*$/, `${more.join('')}}\n`)
    : `${text.trimEnd()}\n${more.join('')}`;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  // The workers end with it.
  child.kill('SIGTERM');
  await exit;
}

/**
 * Runs the balancer in front of these nodes until the test ends.
 *
 * @returns its URL, and a function that replaces the nodes
 */
async function launch(
  { configuration, flags, reload }: Balancer,
  path: string,
  nodes: readonly URL[],
  spread: Spread = 'by session',
) {
  const folder = await mkdtemp(join(tmpdir(), 'balancer-'));
  const file = join(folder, 'configuration');
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    await writeFile(file, configuration(nodes, port, folder, spread));
    const child = spawn(path, flags(file, folder), { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += String(chunk);
    });
    onTestFinished(async () => {
      await end(child);
      await rm(folder, { recursive: true, force: true });
    });
    const url = new URL(`http://127.0.0.1:${port}/mcp`);
    const isUp = () => fetch(url).then(async (response) => (await response.text()) !== undefined);
    while (child.exitCode === null && !(await isUp().catch(() => false)));
    const lead = async (others: readonly URL[]): Promise<void> => {
      await writeFile(file, configuration(others, port, folder, spread));
      child.kill(reload);
    };
    if (child.exitCode === null) return { url, lead };
    // Another process may have taken the free port meanwhile.
    if (attempt === 3) throw new Error(said);
  }
}

test.for(balancers)('$program routes a session to its node', async (balancer, context) => {
  const path = findProgram(balancer.program);
  if (path === undefined) return context.skip(`there is no ${balancer.program}`);
  const shared = new MemoryNodes({});
  const nodes: URL[] = [];
  for (let n = 0; n < 2; n++) {
    const name = 'where';
    const where = defineTool({ name, description: 'Says where', handler: () => nodes[n]!.host });
    const server = createMcpServer({ name: 'balanced', version: '1', tools: [where], stateKeys });
    nodes.push(await serveHttp(server, { stores: shared.start(), report: () => {} }));
  }
  const { url } = await launch(balancer, path, nodes);
  const used = new Set<string | null>();
  for (let n = 0; n < 24; n++) {
    const session = await begin(url);
    for (let call = 0; call < 3; call++) {
      const response = await session.call('where');
      const node = response.headers.get('x-node');
      // No other node received the request.
      expect(await response.text()).toContain(`"text":"${node}"`);
      used.add(node);
    }
  }
  expect(used).toEqual(new Set(nodes.map(({ host }) => host)));
});

test('routes a client to its authorization server through nginx as documented', async (context) => {
  const path = findProgram('nginx');
  if (path === undefined) return context.skip('there is no nginx');
  const issuer = await AuthorizationServer.start();
  onTestFinished(() => issuer.close());
  const server = createMcpServer({ name: 'guarded', version: '1' });
  const own = await serveHttp(server, {
    authorization: { issuer: issuer.issuer, audience: 'https://mcp.example.com/mcp' },
    allowedHosts: 'any',
    report: () => {},
  });
  const alone: Balancer = {
    ...startsNginx,
    configuration: ([node], port, folder) => nginx(port, folder, '', documentedAlone(node as URL)),
  };
  const { url } = await launch(alone, path, [own]);
  const refused = await fetch(url, { method: 'POST' });
  expect(refused.status).toBe(401);
  const [, named = ''] =
    /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
  for (const known of [new URL(named).pathname, '/.well-known/oauth-protected-resource']) {
    const metadata = await fetch(new URL(known, url));
    expect(await metadata.json()).toMatchObject({ authorization_servers: [issuer.issuer] });
  }
});
/** A node like that of `serve`, with this version of the forwarding protocol. */
async function startNode(shared: MemoryNodes, protocol: number) {
  const stores = shared.start();
  const echo = defineTool({ name: 'echo', description: 'Echoes', handler: () => 'echoed' });
  const server = createMcpServer({ name: 'rolling', version: '1', tools: [echo], stateKeys });
  const newer: typeof stores.directory.lease = (node, how, request) => {
    const address = { ...request.address, protocol };
    return stores.directory.lease(node, how, { ...request, address });
  };
  const serving = await listenHttp(server, {
    port: 0,
    report: () => {},
    stores: { ...stores, directory: { ...stores.directory, lease: newer } },
    session: { report: () => {} },
    allowedHosts: 'any',
    insecure: true,
  });
  onTestFinished(() => serving.close());
  return { url: serving.url, close: () => serving.close() };
}

/** A call on a new connection, because a reloading balancer closes idle ones. */
async function callOnce(url: URL, { headers }: RawSession) {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } };
  const sent = request(url, {
    method: 'POST',
    agent: false,
    headers: { ...postHeaders, ...headers },
  });
  sent.end(JSON.stringify(message));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { node: String(response.headers['x-node']), status: response.statusCode, text };
}

const spreads = ['by session', 'by turns'] as const;

test.for(balancers.flatMap((balancer) => spreads.map((spread) => ({ balancer, spread }))))(
  'fails no request behind $balancer.program, $spread, while nodes are upgraded to a newer forwarding protocol',
  async ({ balancer, spread }, context) => {
    const path = findProgram(balancer.program);
    if (path === undefined) return context.skip(`there is no ${balancer.program}`);
    const shared = new MemoryNodes({});
    const nodes = await Promise.all([1, 1, 1].map((protocol) => startNode(shared, protocol)));
    const urls = () => nodes.map(({ url }) => url);
    const { url, lead } = await launch(balancer, path, urls(), spread);
    const sessions = await Promise.all(Array.from({ length: 6 }, () => begin(url)));
    let phase: 'replacing' | 'replaced' = 'replacing';
    const failures: string[] = [];
    const led = new Map<string, number>();
    let answers = 0;
    const calling = sessions.map(async (session) => {
      while (phase === 'replacing') {
        try {
          const { node, status, text } = await callOnce(url, session);
          led.set(node, (led.get(node) ?? 0) + 1);
          if (text.includes('"text":"echoed"')) answers++;
          else failures.push(`${status} ${text}`);
        } catch (error) {
          failures.push(String(error));
        }
      }
    });
    const moreAnswers = async (count: number) => {
      const since = answers;
      await expect.poll(() => answers + failures.length - since).toBeGreaterThan(count);
    };
    for (const [place, old] of [...nodes.entries()]) {
      nodes[place] = await startNode(shared, 2);
      await lead(urls());
      // The balancer routes nothing to the old node.
      await expect
        .poll(async () => {
          const before = led.get(old.url.host) ?? 0;
          await moreAnswers(60);
          return (led.get(old.url.host) ?? 0) - before;
        })
        .toBe(0);
      await old.close();
      await moreAnswers(30);
    }
    phase = 'replaced';
    await Promise.all(calling);
    expect(failures).toEqual([]);
  },
);
