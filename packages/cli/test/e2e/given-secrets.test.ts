/** What `call`, `shell` and `check` are given as secrets is shown to nobody, also if the server repeats it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCommand, temporaryFolder } from './client-command.ts';

const custom = 'plain-0815-value';
const password = 'pa"ss word';
const basic = `Basic ${Buffer.from(`ann:${password}`).toString('base64')}`;
const inQuery = 'query/secret+1';

/** A server over HTTP that repeats whatever it is sent, wherever a text of its own may stand. */
async function repeatingServer(): Promise<string> {
  const answers = (method: string, told: string): object => {
    switch (method) {
      case 'initialize':
        return {
          result: {
            protocolVersion: '2025-11-25',
            capabilities: { tools: {}, logging: {} },
            serverInfo: { name: told, version: '1' },
          },
        };
      case 'tools/list':
        return { result: { tools: [{ name: 'say', inputSchema: { type: 'object' } }] } };
      case 'tools/call':
        return { error: { code: -32000, message: told } };
      default:
        return { error: { code: -32601, message: told } };
    }
  };
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { id, method } = JSON.parse(body || '{}') as { id?: number; method?: string };
      if (method === undefined || id === undefined) return response.writeHead(202).end();
      const { authorization = '', 'x-acme': acme = '' } = request.headers;
      const credentials = Buffer.from(authorization.replace('Basic ', ''), 'base64');
      const query = new URL(request.url ?? '', 'http://h').searchParams.get('api_key');
      const told = [authorization, acme, credentials, query].join(' | ');
      const send = (message: object) =>
        `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
      const log = { level: 'error', data: { told } };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (method === 'tools/call') {
        response.write(send({ method: 'notifications/message', params: log }));
      }
      return response.end(send({ id, ...answers(method, told) }));
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.close().closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}/mcp?api_key=${encodeURIComponent(inQuery)}`;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  return text;
}

const shown = (text: string) =>
  [custom, password, JSON.stringify(password).slice(1, -1), basic.slice(6), inQuery].filter(
    (secret) => text.includes(secret),
  );

test.each([
  ['on the command line', false],
  ['in a file, from a variable', true],
])('headers %s stand neither on stderr nor in a recording', async (_where, isFile) => {
  const home = temporaryFolder();
  const url = await repeatingServer();
  const record = join(home, 'recorded.jsonl');
  const file = join(home, 'mcp.json');
  // A variable that is not set has its default.
  const acme = isFile ? `\${NOT_SET_ANYWHERE:-${custom}}` : custom;
  const headers = { 'X-Acme': acme, Authorization: basic };
  writeFileSync(file, JSON.stringify({ mcpServers: { a: { url, headers } } }));
  const given = isFile
    ? [file, 'say']
    : [
        url,
        'say',
        ...Object.entries(headers).flatMap(([name, of]) => ['--header', `${name}:${of}`]),
      ];
  const { code, stderr } = await runCommand(
    ['call', ...given, '--verbose', '--record', record],
    '',
    home,
  );
  expect([code, shown(stderr)]).toEqual([1, []]);
  // The log message and the error.
  expect(stderr.match(/(?:\[redacted\] \| ){3}\[redacted\]/g)).toHaveLength(2);
  const lines = readFileSync(record, 'utf8');
  expect(shown(lines)).toEqual([]);
  expect(lines).toContain('[redacted 1]');
  const replayed = await runCommand(['replay', record], '', home);
  expect([replayed.code, replayed.stderr]).toEqual([0, '']);
});

test('a report holds no header that the server has repeated', async () => {
  const url = await repeatingServer();
  const headers = ['--header', `X-Acme:${custom}`, '--header', `Authorization:${basic}`];
  for (const form of [[], ['--json']]) {
    const { stdout } = await runCommand([
      ...['check', '--url', url, ...headers, ...form],
      ...['--walks', '0', '--play', 'call:say', '--timeout', '300ms'],
    ]);
    expect(shown(stdout)).toEqual([]);
    expect(stdout).toContain('[redacted] | [redacted]');
  }
});
