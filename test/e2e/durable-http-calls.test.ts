/** Ordinary calls over HTTP, in sessions of clients that resume streams: their server is killed, and the next process answers. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Client as Client2,
  StreamableHTTPClientTransport as Http2,
} from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { connect } from 'mcp-actors/client';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openTaskStore } from '../../packages/serve/src/open-task-worker.ts';
import { StoredTasks } from '../../packages/serve/src/stored-tasks.ts';
import { program } from '../tooling/programs.ts';
import { textOf } from './both-eras-client.ts';
import { HeldFront } from './held-front.ts';
import { launchHttp } from './http-process.ts';
import { killedStores } from './killed-stores.ts';
import { reapServers } from './server-process.ts';
import type { ServerProcess } from './server-process.ts';

const server = program('test/e2e/http-calls-server.ts');
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-http-calls-'));
});

afterEach(async () => {
  await reapServers();
  await rm(folder, { recursive: true });
});

const release = (file: string) => writeFile(join(folder, file), '');

interface Caller {
  call(name: string, args: object, progressed?: (progress: number) => void): Promise<string>;
}

const callers: { readonly [name: string]: (url: URL) => Promise<Caller> } = {
  'the official client 1.32': async (url) => {
    const client = new Client1({ name: 'official', version: '1' });
    await client.connect(new Http1(url));
    onTestFinished(() => client.close());
    return {
      call: async (name, args, progressed) => {
        const onprogress = ({ progress }: { progress: number }) => progressed?.(progress);
        const params = { name, arguments: { ...args } };
        return textOf((await client.callTool(params, undefined, { onprogress })) as never);
      },
    };
  },
  'the official client 2.4': async (url) => {
    const client = new Client2({ name: 'official', version: '1' });
    await client.connect(new Http2(url));
    onTestFinished(() => client.close());
    return {
      call: async (name, args, progressed) => {
        const onprogress = ({ progress }: { progress: number }) => progressed?.(progress);
        return textOf(await client.callTool({ name, arguments: { ...args } }, { onprogress }));
      },
    };
  },
  'our client': async (url) => {
    const connection = await connect({ url: url.href }, { era: 'legacy' });
    onTestFinished(() => connection.close());
    return {
      call: async (name, args, progressed) => {
        const onProgress = ({ progress }: { progress: number }) => progressed?.(progress);
        return textOf((await connection.callTool(name, { ...args }, { onProgress })) as never);
      },
    };
  },
};

/** Starts the server where the front leads to. */
async function start(front: HeldFront, durable: string, port = 0): Promise<ServerProcess> {
  const { server: child, url } = await launchHttp([...server, durable, String(port), folder]);
  front.port = Number(url.port);
  return child;
}

const receipt = /^(.*): receipt of \1$/;

describe.each(killedStores)('over HTTP with $name', (store) => {
  beforeEach((context) => store.needs(context));

  test.each(Object.entries(callers))(
    'a call of %s gets its result from the next process',
    async (_, open) => {
      const durable = await store.open();
      const front = new HeldFront();
      const url = await front.listen();
      let child = await start(front, durable);
      const caller = await open(url);
      const heard: number[] = [];
      let progressed = () => {};
      const begun = new Promise<void>((resolve) => {
        progressed = resolve;
      });
      const result = caller.call('order', { file: 'one' }, (progress) => {
        heard.push(progress);
        progressed();
      });
      await begun;
      for (let kills = 0; kills < 2; kills++) {
        child.child.kill('SIGKILL');
        await child.exit;
        child = await start(front, durable, front.port);
        await child.log.find(({ event }) => event === 'order.runs');
      }
      await release('one');
      expect(await result).toMatch(receipt);
      expect(heard).toEqual([1, 2]);
      expect(front.answers.filter((each) => /404|50\d/.test(each))).toEqual([]);
    },
  );
});

/** Raw HTTP in a session of one revision. */
class RawSession {
  readonly #url: URL;
  readonly #revision: string;
  #id: string | undefined = undefined;

  constructor(url: URL, revision: string) {
    this.#url = url;
    this.#revision = revision;
  }

  get #headers(): { [name: string]: string } {
    return {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(this.#id ? { 'mcp-session-id': this.#id, 'mcp-protocol-version': this.#revision } : {}),
    };
  }

  async open(): Promise<this> {
    const clientInfo = { name: 'raw', version: '1' };
    const params = { protocolVersion: this.#revision, capabilities: {}, clientInfo };
    const response = await this.post({ id: 0, method: 'initialize', params });
    this.#id = response.headers.get('mcp-session-id') ?? undefined;
    await response.text();
    await this.post({ method: 'notifications/initialized' });
    return this;
  }

  post(message: object): Promise<Response> {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    return fetch(this.#url, { method: 'POST', headers: this.#headers, body });
  }

  call(id: number, name: string, args: object = {}): Promise<Response> {
    return this.post({ id, method: 'tools/call', params: { name, arguments: args } });
  }

  resume(lastEventId: string): Promise<Response> {
    const headers = { ...this.#headers, 'last-event-id': lastEventId };
    return fetch(this.#url, { headers });
  }
}

/** The first chunk of a stream. */
async function beginningOf({ body }: Response): Promise<string> {
  const { value } = await (body as ReadableStream<Uint8Array>).getReader().read();
  return new TextDecoder().decode(value);
}

const idsIn = (text: string) => [...text.matchAll(/^id: (.*)$/gm)].map(([, id = '']) => id);

describe('raw streams with SQLite', () => {
  let front: HeldFront;
  let url: URL;
  let durable: string;
  let child: ServerProcess;

  beforeEach(async () => {
    durable = join(folder, 'state');
    front = new HeldFront();
    url = await front.listen();
    child = await start(front, durable);
  });

  const restart = async () => {
    child.child.kill('SIGKILL');
    await child.exit;
    child = await start(front, durable, front.port);
  };

  test.each(['2025-03-26', '2025-06-18', '2025-11-25'])(
    'a durable call of %s begins with an id, and its result is delivered once by its id',
    async (revision) => {
      const session = await new RawSession(url, revision).open();
      const first = await beginningOf(await session.call(1, 'order', { file: 'one' }));
      const [begun = ''] = idsIn(first);
      expect(first).toContain('retry: 50');
      await restart();
      await release('one');
      const text = await (await session.resume(begun)).text();
      const last = idsIn(text).at(-1) ?? '';
      expect(text).toContain('receipt of');
      const again = await (await session.resume(begun)).text();
      expect(idsIn(again).at(-1)).toBe(last);
      expect((await session.resume(last)).status).toBe(405);
      await restart();
      expect((await session.resume(last)).status).toBe(405);
      expect(await (await session.resume(begun)).text()).toContain('receipt of');
    },
  );

  test('a call that is not durable fails with a retryable error and its reason', async () => {
    const session = await new RawSession(url, '2025-11-25').open();
    const plain = session.post({
      ...{ id: 1, method: 'tools/call' },
      params: { name: 'plain', arguments: {}, _meta: { progressToken: 1 } },
    });
    const [begun = ''] = idsIn(await beginningOf(await plain));
    await restart();
    const text = await (await session.resume(begun)).text();
    expect(text).toContain('"reason":"process-ended"');
    expect(text).toContain('"retryable":true');
  });

  test('a cancellation reaches the call in the next process', async () => {
    const session = await new RawSession(url, '2025-11-25').open();
    const call = await session.call(1, 'order', { file: 'never' });
    const [begun = ''] = idsIn(await beginningOf(call));
    await restart();
    const params = { requestId: 1 };
    expect((await session.post({ method: 'notifications/cancelled', params })).status).toBe(202);
    const store = await openTaskStore(durable);
    const stored = async () =>
      (await new StoredTasks(store).list({ max: 10 })).map(({ status }) => status);
    await expect.poll(stored, { timeout: 60_000 }).toEqual(['cancelled']);
    await store.close();
    await restart();
    expect((await session.resume(begun)).status).toBe(405);
  });
});
