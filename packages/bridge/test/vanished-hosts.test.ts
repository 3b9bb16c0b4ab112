/** Hosts of 2026-07-28 that vanish from a real network: nothing that is sent to them arrives. */
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { enveloped } from 'mcp-actors/testing';
import { command, gone } from '../../../test/e2e/server-process.ts';
import { posted } from '../../http/test/faults/wire.ts';
import { headersOf } from '../../http/test/modern/modern-client.ts';
import type { Message } from '../../http/test/raw-client.ts';
import { networks } from './networks.ts';

/** Waits until a process has said this, and lets it go on. */
const said = (output: Readable | null, text: string) =>
  new Promise<void>((resolve, reject) => {
    let all = '';
    output?.on('data', (chunk) => {
      all += String(chunk);
      if (all.includes(text)) resolve();
    });
    output?.on('end', () => reject(new Error(`It has ended, and not said ${text}: ${all}`)));
  });

/** Times that are as much shorter than the usual ones as a test should be. */
const short = [
  ...['--limit', 'http.keepaliveIntervalMs=100ms', '--limit', 'http.unreadTimeoutMs=900ms'],
  ...['--process-idle', '100ms'],
];

test('drops only the vanished listening host, and ends the process with the last one', async (context) => {
  const net = await networks().catch((error: Error) =>
    context.skip(`two networks cannot be had here: ${error.message.trim()}`),
  );
  const folder = await mkdtemp(join(tmpdir(), 'vanished-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const journal = join(folder, 'journal');
  const url = new URL(`http://${net.near}:3000/mcp`);
  const server = [process.execPath, join(import.meta.dirname, 'journal-server.mjs'), journal];
  const bridge = [...command, 'bridge', '--http', url.host, '--insecure', ...short];
  const serving = net.startNode('near', [...bridge, '--', ...server]);
  await said(serving.stderr, url.href);
  const notifications = { toolsListChanged: true };
  const listen = enveloped(1, 'subscriptions/listen', { notifications }) as Message;
  const host = `const [port, host, localAddress, text] = process.argv.slice(1);
    const socket = require('node:net').connect({ port, host, localAddress });
    socket.on('error', () => {}).pipe(process.stdout);
    socket.write(text);`;
  const text = posted(url, listen, headersOf(listen));
  for (const address of net.far) {
    const listening = net.startNode('far', ['-e', host, url.port, url.hostname, address, text]);
    await said(listening.stdout, 'acknowledged');
  }
  const [line = ''] = (await readFile(journal, 'utf8')).split('\n', 1);
  const pid = Number(line.split(' ')[0]);
  const [first, second] = net.far;
  expect([...net.connected].sort()).toEqual([first, second]);
  await net.lose(first);
  await vi.waitFor(() => expect(net.connected).toEqual([second]), { timeout: 100_000 });
  expect(() => process.kill(pid, 0)).not.toThrow();
  await net.lose(second);
  await gone(pid);
  expect(net.connected).toEqual([]);
  serving.kill();
  await once(serving, 'exit');
});
