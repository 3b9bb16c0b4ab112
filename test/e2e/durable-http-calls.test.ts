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
