/** How official clients handle the answer to a call they cancelled before its start. */
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport as OldTransportType } from '@modelcontextprotocol/sdk/shared/transport.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineTool } from '../../../../src/index.ts';
import { gate } from '../../../testing/src/index.ts';
import { serveTools } from '../serving.ts';

const info = { name: 'official', version: '1' };

interface Official {
  call(name: string, signal?: AbortSignal): Promise<unknown>;
}

type Complain = (error: unknown) => void;

async function oldClient(url: URL, onerror: Complain, fetch: typeof globalThis.fetch) {
  const client = new OldClient(info);
  client.onerror = onerror;
  await client.connect(new OldTransport(url, { fetch }) as OldTransportType);
  onTestFinished(() => client.close());
  return {
    call: (name: string, signal?: AbortSignal) =>
      client.callTool({ name }, undefined, signal ? { signal } : {}),
  };
}

async function newClient(url: URL, onerror: Complain, fetch: typeof globalThis.fetch) {
  const client = new NewClient(info, { versionNegotiation: { mode: 'legacy' } });
  client.onerror = onerror;
  await client.connect(new NewTransport(url, { fetch }));
  onTestFinished(() => client.close());
  return {
    call: (name: string, signal?: AbortSignal) =>
      client.callTool({ name }, signal ? { signal } : {}),
  };
}

const clients: readonly (readonly [
  string,
  (...args: Parameters<typeof oldClient>) => Promise<Official>,
])[] = [
  ['1.32.2', oldClient],
  ['2.4.0', newClient],
];

describe.each(clients)('a call cancelled by the official client %s', (_, connect) => {
  test.each([
    ['an empty stream', 200, {}],
    ['202 at a JSON-only endpoint', 202, { jsonResponses: true }],
  ])(
    'ends as %s without a response, which the client accepts [HTTP-07]',
    async (_what, status, options) => {
      const held = gate();
      const hold = defineTool({
        name: 'hold',
        description: 'Says nothing',
        handler: async (_args, { signal }) => {
          await held.pass(signal);
          return 'done';
        },
      });
      const { url } = await serveTools([hold], options);
      const complaints: unknown[] = [];
      const answers: [number, string][] = [];
      const answered = gate();
      const watched: typeof fetch = async (input, init) => {
        const response = await fetch(input, init);
        if (typeof init?.body !== 'string' || !init.body.includes('"tools/call"')) return response;
        answers.push([response.status, await response.clone().text()]);
        answered.release();
        return response;
      };
      const client = await connect(url, (error) => complaints.push(error), watched);
      const cancelling = new AbortController();
      const call = client.call('hold', cancelling.signal);
      await held.arrived();
      cancelling.abort(new Error('not wanted'));
      await expect(call).rejects.toThrow('not wanted');
      await answered.pass();
      expect(answers).toEqual([[status, '']]);
      held.release();
      await expect(client.call('hold')).resolves.toMatchObject({ content: [{ text: 'done' }] });
      expect(complaints).toEqual([]);
    },
  );
});
