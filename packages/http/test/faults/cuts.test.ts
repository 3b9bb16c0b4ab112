/** A conversation cut at every byte, on either side, in both eras. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { defineTool } from '../../../../src/index.ts';
import { enveloped } from '../../../testing/src/index.ts';
import { headersOf, request } from '../modern/modern-client.ts';
import { EventReader, begin, initializeRequest } from '../raw-client.ts';
import type { Message } from '../raw-client.ts';
import { serveTools } from '../serving.ts';
import { lastRequest, sendBytes, socketTo, statusesOf, wire } from './wire.ts';

/** The bytes of a POST. */
function posted(url: URL, message: object, headers: { readonly [name: string]: string } = {}) {
  const body = JSON.stringify(message);
  const all = {
    Host: url.host,
    'Content-Type': 'application/json',
    'Content-Length': `${body.length}`,
    ...headers,
  };
  return wire({ headers: Object.entries(all).map((pair) => pair.join(': ')), body });
}

const say = defineTool({
  name: 'say',
  description: 'Says something first',
  handler: (_, context) => {
    context.notify('test/step');
    return 'hi';
  },
});

const call = (id: number) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'say', arguments: {} },
});

const modernCall = enveloped(1, 'tools/call', { name: 'say', arguments: {} }) as Message;

/** Sends bytes and closes the connection, which the server notices first. */
async function sendAndLeave(url: URL, bytes: string): Promise<void> {
  const socket = socketTo(url);
  await once(socket, 'connect');
  await new Promise<void>((resolve) => {
    socket.write(bytes, () => resolve());
  });
  socket.destroy();
  await once(socket, 'close');
}

/** Reads that many bytes of an answer, then closes the connection. */
async function readAndLeave(socket: Socket, bytes: number): Promise<string> {
  let got = '';
  socket.on('data', (chunk: Buffer) => {
    got += chunk.toString('latin1');
    if (got.length >= bytes) socket.destroy();
  });
  socket.once('end', () => socket.destroy());
  await once(socket, 'close');
  return got.slice(0, bytes);
}

/** Requests of each kind of client. */
const conversations: readonly (readonly [what: string, bytesFor: (url: URL) => Promise<string>])[] =
  [
    ['initialize', (url) => Promise.resolve(posted(url, initializeRequest()))],
    ['a call in a session', async (url) => posted(url, call(1), (await begin(url)).headers)],
    [
      'a call without a session',
      (url) => Promise.resolve(posted(url, modernCall, headersOf(modernCall))),
    ],
  ];

describe('a request cut at every byte', () => {
  test.each(conversations)(
    'is not processed before its last byte: %s [HTTP-18]',
    async (_, bytesFor) => {
      const called: string[] = [];
      const note = {
        ...say,
        handler: () => {
          called.push('called');
          return 'noted';
        },
      };
      // Only one slot: a session started by a partial request would block it.
      const { url, facts } = await serveTools([note], { limits: { maxSessions: 1 } });
      const bytes = await bytesFor(url);
      for (let length = 0; length < bytes.length; length++) {
        await sendAndLeave(url, bytes.slice(0, length));
      }
      expect(called).toEqual([]);
      const answers = await sendBytes(url, bytes + lastRequest(url));
      expect(statusesOf(answers)).toEqual([200, 405]);
      expect(called).toHaveLength(bytes.includes('tools/call') ? 1 : 0);
      expect(facts.filter(({ level }) => level === 'error')).toEqual([]);
    },
  );
});

describe('an answer cut at every byte', () => {
  test('resumes after its last complete event in a session [HTTP-18]', async () => {
    const { url } = await serveTools([say]);
    const session = await begin(url);
    let bytes = 0;
    for (let got = ''; !got.endsWith('0\r\n\r\n'); bytes++) {
      const socket = socketTo(url);
      socket.write(posted(url, call(bytes), session.headers));
      got = await readAndLeave(socket, bytes + 1);
      const whole = [...got.matchAll(/^id: (\S+)\n(?:[^\n]+\n)*\n/gm)].map(([, id]) => id);
      const last = whole.at(-1);
      if (last === undefined) continue;
      const resumed = await session.get(last);
      const missed = resumed.response.ok ? await resumed.rest() : [];
      const ids = [...whole, ...missed.flatMap(({ id, data }) => (data ? (id ?? []) : []))];
      expect(ids.map((id) => id?.split('-')[1])).toEqual(['0', '1', '2']);
    }
    expect(bytes).toBeGreaterThan(300);
  });

  test('cancels only its own request without a session [HTTP-18]', async () => {
    let aborted: (reason: string) => void = () => {};
    const others = new Set<AbortSignal>();
    const hold = defineTool({
      name: 'say',
      description: 'Says something, and waits until it is cancelled',
      inputSchema: { type: 'object', properties: { stays: { type: 'boolean' } } },
      handler: (args, context) =>
        new Promise<string>((resolve) => {
          const { signal } = context;
          if (args.stays) others.add(signal);
          context.notify('test/step');
          signal.addEventListener('abort', () => {
            aborted('cancelled');
            resolve('never heard');
          });
        }),
    });
    const { url } = await serveTools([hold]);
    const other = await request(url, 'tools/call', { name: 'say', arguments: { stays: true } });
    const stream = new EventReader(other);
    await stream.message();
    const whole = await readAll(url);
    for (let bytes = 1; bytes <= whole; bytes++) {
      const cancelled = new Promise<string>((resolve) => {
        aborted = resolve;
      });
      const socket = socketTo(url);
      socket.write(posted(url, modernCall, headersOf(modernCall)));
      await readAndLeave(socket, bytes);
      expect(await cancelled).toBe('cancelled');
    }
    expect(whole).toBeGreaterThan(200);
    expect([...others].map((signal) => signal.aborted)).toEqual([false]);
    await stream.leave();
  });
});

/** Length of an answer up to the end of its first message, bytes. */
async function readAll(url: URL): Promise<number> {
  const socket = socketTo(url);
  socket.write(posted(url, modernCall, headersOf(modernCall)));
  let got = '';
  while (!got.includes('test/step')) got += String((await once(socket, 'data'))[0]);
  socket.destroy();
  return got.length;
}
