/** The load balancers of docs/http.md, as it configures them: each request of a session comes to the node that has it. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../src/index.ts';
import { AuthorizationServer } from '../authorization-server.ts';
import { begin } from '../raw-client.ts';
import { MemoryNodes } from './memory-stores.ts';
import { serveHttp } from '../serving.ts';
import { stateKeys } from './redis-nodes.ts';
import { freePort } from '../../tooling/free-port.ts';
import { findProgram } from './redis-server.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/http.md'), 'utf8');

/** The page's configuration of nginx before one server, which has this address. */
const documentedAlone = (server: URL): string =>
  page
    .split('```')
    .filter(
      (block) => block.startsWith('nginx\n') && block.includes('proxy_pass http://127.0.0.1:3000;'),
    )
    .map((block) => block.slice('nginx'.length).replaceAll('127.0.0.1:3000', server.host))
    .join('');

/** What the page shows of a program's configuration, with these in the places of its nodes. */
function documented(language: string, nodes: readonly URL[]): string {
  const blocks = page.split('```').filter((block) => block.startsWith(`${language}\n`));
  const block = blocks.find((each) => each.includes('10.0.0.1:3000')) ?? '';
  const text = block.slice(language.length);
  return text.replaceAll(
    /10\.0\.0\.(\d):3000/g,
    (_, n: string) => nodes[Number(n) - 1]?.host ?? '',
  );
}

interface Balancer {
  readonly program: string;
  configuration(nodes: readonly URL[], port: number, folder: string): string;
  /** How it is told where its configuration is. */
  flags(file: string, folder: string): readonly string[];
}

/** nginx with these blocks of `http`, and these locations. */
const nginx = (port: number, folder: string, blocks: string, locations: string): string => `
  daemon off; master_process off; pid ${folder}/pid; error_log stderr;
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

const startsNginx: Pick<Balancer, 'program' | 'flags'> = {
  program: 'nginx',
  flags: (file, folder) => ['-c', file, '-p', folder],
};

const balancers: readonly Balancer[] = [
  {
    ...startsNginx,
    configuration: (nodes, port, folder) =>
      nginx(
        port,
        folder,
        documented('nginx', nodes),
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
    configuration: (nodes, port) => `
defaults
  mode http
  timeout connect 10s
  timeout client 60s
  timeout server 60s
frontend all
  bind 127.0.0.1:${port}
  http-response set-header x-node %si:%sp
  default_backend mcp
${documented('haproxy', nodes)}
`,
    flags: (file) => ['-f', file],
  },
];

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/** Runs it before these nodes until the test is over. @returns where it listens */
async function launch({ configuration, flags }: Balancer, path: string, nodes: readonly URL[]) {
  const folder = await mkdtemp(join(tmpdir(), 'balancer-'));
  const file = join(folder, 'configuration');
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    await writeFile(file, configuration(nodes, port, folder));
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
    if (child.exitCode === null) return url;
    // Somebody else may have taken the port since it was free.
    if (attempt === 3) throw new Error(said);
  }
}

test.for(balancers)(
  '$program leads a session to the node that has it',
  async (balancer, context) => {
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
    const url = await launch(balancer, path, nodes);
    const used = new Set<string | null>();
    for (let n = 0; n < 24; n++) {
      const session = await begin(url);
      for (let call = 0; call < 3; call++) {
        const response = await session.call('where');
        const node = response.headers.get('x-node');
        // No other one was asked for it.
        expect(await response.text()).toContain(`"text":"${node}"`);
        used.add(node);
      }
    }
    expect(used).toEqual(new Set(nodes.map(({ host }) => host)));
  },
);

test('nginx as documented before one server leads a client to the issuer of its tokens', async (context) => {
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
  const url = await launch(alone, path, [own]);
  const refused = await fetch(url, { method: 'POST' });
  expect(refused.status).toBe(401);
  const [, named = ''] =
    /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
  for (const known of [new URL(named).pathname, '/.well-known/oauth-protected-resource']) {
    const metadata = await fetch(new URL(known, url));
    expect(await metadata.json()).toMatchObject({ authorization_servers: [issuer.issuer] });
  }
});
