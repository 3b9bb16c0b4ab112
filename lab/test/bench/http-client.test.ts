import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { call, discovery, enveloped, isDiscovered, isText } from '../../bench/conversation.ts';
import { HttpClient } from '../../bench/http/http-client.ts';
import { ask } from '../../bench/http/measures/asking.ts';

const floor = fileURLToPath(new URL('../../bench/servers/floor-http.mjs', import.meta.url));
const started: HttpClient[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((client) => client.close()));
});

async function start(...args: readonly string[]): Promise<HttpClient> {
  const client = await HttpClient.start(args, { cwd: tmpdir(), silenceMs: 60_000 });
  started.push(client);
  return client;
}

/** A server that responds to each request with these bytes, in as many writes. */
function answering(...writes: readonly string[]): Promise<HttpClient> {
  const code = `
    const server = require('node:net').createServer((socket) => socket.on('data', async () => {
      for (const text of ${JSON.stringify(writes)}) {
        await new Promise((done) => socket.write(text, () => setImmediate(done)));
      }
    }));
    server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port + '/mcp'));
    process.on('SIGTERM', () => process.exit());`;
  return start('-e', code);
}

const echo = call('echo', { text: 'ä' });

/** Response to a request, or the reason the client broke. */
async function outcomeOf(client: HttpClient): Promise<string> {
  const connection = await client.connect();
  const session = { id: 'a session', revision: '2025-06-18' };
  const answered = client.request(connection, session, echo, isText('ä')).then(() => 'right');
  return Promise.race([answered, client.broken]).catch((error: unknown) => String(error));
}

const right = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  result: { content: [{ type: 'text', text: 'ä' }] },
});
const head =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const json = (text: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;

describe("the benchmark's HTTP client", () => {
  test('parses a response as JSON and as a stream, whole or in pieces', async () => {
    const stream = `${head}${chunk('id: 1\ndata:\n\n: a comment\n\n')}${chunk(`data: ${right}\n`)}${chunk('\n')}0\r\n\r\n`;
    expect(await outcomeOf(await answering(json(right)))).toBe('right');
    expect(await outcomeOf(await answering(stream))).toBe('right');
    // One write per character.
    const pieces = (text: string) => [...text];
    expect(await outcomeOf(await answering(...pieces(json(right))))).toBe('right');
    expect(await outcomeOf(await answering(...pieces(stream)))).toBe('right');
  });

  test.each([
    ['another id', json(right.replace('"id":1', '"id":2')), 'the answer of another request: 2'],
    ['another text', json(right.replace('ä', 'b')), 'another text: "b"'],
    ['no answer', 'HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n', 'no answer, status 202'],
    ['an error', json('{"id":1,"error":{"code":-1,"message":"no"}}'), 'an error: {"code":-1'],
    ['no JSON', json('<html>'), 'no JSON: <html>'],
    ['two answers', `${head}${chunk(`data: ${right}\n\ndata: ${right}\n\n`)}`, 'answered twice'],
    ['too much', `${json(right)}more`, 'bytes after an answer: more'],
  ])('fails on %s', async (_what, bytes, why) => {
    expect(await outcomeOf(await answering(bytes))).toContain(why);
  });

  test('handles sessions, streams and requests of both eras with the floor', async () => {
    const client = await start(floor);
    const [control, stream] = [await client.connect(), await client.connect()];
    const others = await client.connections(3);
    const session = await client.greet(control);
    await client.request(control, session, echo, isText('ä'));
    // Answers are posted while the call's stream is open, so they need connections of their own.
    await ask({ client, connection: control }, { client, connections: others }, session, 20);
    await client.request(control, undefined, enveloped(discovery), isDiscovered);
    let hear = (_method?: string): void => {};
    const heard = new Promise((resolve) => {
      hear = resolve;
    });
    await client.listen(stream, session, ({ method }) => hear(method));
    await client.request(control, session, call('notify', { count: 1 }), isText('done'));
    expect(await heard).toBe('notifications/tools/list_changed');
    stream.close();
    await client.end(control, session);
    expect(await client.statusOf(control, session, echo)).toBe(404);
  });
});
