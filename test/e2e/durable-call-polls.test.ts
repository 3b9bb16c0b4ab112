/**
 * Durable calls of 2026-07-28 over HTTP, by clients without the tasks extension: they poll, and
 * servers are killed.
 */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { connect } from 'mcp-actors/client';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { program } from '../tooling/programs.ts';
import { modern, textOf } from './both-eras-client.ts';
import { launchHttp } from './http-process.ts';
import { LineStream } from './line-stream.ts';
import { reapServers } from './server-process.ts';

const server = program('test/e2e/polled-calls-server.ts');
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-polls-'));
});

afterEach(async () => {
  await reapServers();
  await rm(folder, { recursive: true });
});

/** Lets the server's tool return. */
const release = () => writeFile(join(folder, 'go'), '');

/** Load balancer in front of the servers: owns the address and records the requests. */
class Front {
  readonly polls = new LineStream<string>('poll');
  #port = 0;
  #process: Awaited<ReturnType<typeof launchHttp>>['server'] | undefined;
  readonly #server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const to = request({ port: this.#port, host: '127.0.0.1', method, path: url, headers });
    to.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
    });
    to.on('error', () => outgoing.destroy());
    outgoing.on('close', () => to.destroy());
    incoming.on('data', (chunk: Buffer) => {
      const state = /"requestState":"([^"]*)"/.exec(chunk.toString())?.[1];
      if (state !== undefined) this.polls.push(state);
      to.write(chunk);
    });
    incoming.on('end', () => to.end());
  });

  async listen(): Promise<URL> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`);
  }

  /** Replaces the server by a new one. */
  async start(holdMs = 200): Promise<void> {
    const args = [join(folder, 'state'), '0', join(folder, 'go'), String(holdMs)];
    const { server: child, url } = await launchHttp([...server, ...args]);
    this.#process = child;
    this.#port = Number(url.port);
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#process?.child.kill(signal);
    await this.#process?.exit;
  }
}

const receipt = /^(.*): receipt of \1$/;

test('continues a call of our client in the next process, however often it is killed', async () => {
  const front = new Front();
  const url = await front.listen();
  await front.start();
  const connection = await connect({ url: url.href });
  onTestFinished(() => connection.close());
  const result = connection.callTool('order', {});
  await front.polls.find(() => true);
  for (let kills = 0; kills < 3; kills++) {
    await front.end('SIGKILL');
    const before = front.polls.all.length;
    await front.start();
    await front.polls.find((poll) => front.polls.all.indexOf(poll) >= before);
  }
  await release();
  expect(textOf((await result) as never)).toMatch(receipt);
});

test('holds a call of the official client instead of exceeding its polling limit', async () => {
  const front = new Front();
  const url = await front.listen();
  await front.start(20);
  const client = new Client(
    { name: 'official', version: '1' },
    { versionNegotiation: { mode: modern } },
  );
  await client.connect(new StreamableHTTPClientTransport(url));
  onTestFinished(() => client.close());
  const result = client.callTool({ name: 'order', arguments: {} });
  await front.polls.find((poll) => poll.endsWith('~9'));
  await release();
  expect(textOf((await result) as never)).toMatch(receipt);
});
