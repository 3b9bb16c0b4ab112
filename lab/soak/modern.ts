/** Soak acts of the modern era, in which each request identifies its client. */
import type { Answer, SoakClient } from './client.ts';
import type { Act } from './traffic.ts';
import { rootsOf } from './traffic.ts';

const prefix = 'io.modelcontextprotocol';
const envelope = {
  [`${prefix}/protocolVersion`]: '2026-07-28',
  [`${prefix}/clientCapabilities`]: { roots: {} },
};

const enveloped = (params: object) => ({ ...params, _meta: envelope });
const info = { name: 'workspace_info', arguments: {} };

/** Sends an enveloped request. */
const ask = (client: SoakClient, method: string, params: object): Promise<Answer> =>
  client.request(method, enveloped(params));

/** A call that requests the roots. */
async function asking(client: SoakClient): Promise<{ readonly requestState: string }> {
  const { result } = await ask(client, 'tools/call', info);
  const { resultType } = result as { readonly resultType?: string };
  if (resultType === 'input_required') return result as { readonly requestState: string };
  throw new Error(`FAILED: workspace_info did not ask: ${JSON.stringify(result).slice(0, 300)}`);
}

const answers: readonly unknown[] = [
  7,
  {},
  { q1: 7 },
  { q1: { roots: 'none' } },
  JSON.parse('{"__proto__":{"roots":[]}}'),
];

export const modernActs: readonly Act[] = [
  {
    name: 'calls in rounds',
    play: async (client, project) => {
      for (let count = 0; count < 5; count++) {
        const { requestState } = await asking(client);
        const inputResponses = { q1: rootsOf(project, ['a']) };
        const { result, error } = await ask(client, 'tools/call', {
          ...info,
          requestState,
          inputResponses,
        });
        if (error !== undefined || (result as { readonly isError?: boolean }).isError === true) {
          throw new Error(`FAILED: a round: ${JSON.stringify(error ?? result).slice(0, 300)}`);
        }
      }
    },
  },
  {
    name: 'rounds that nobody goes on with',
    play: (client) => Promise.all(Array.from({ length: 50 }, () => asking(client))),
  },
  {
    name: 'states and answers that are wrong, or come twice',
    play: async (client, project) => {
      const { requestState } = await asking(client);
      for (const inputResponses of answers) {
        await ask(client, 'tools/call', { ...info, requestState, inputResponses });
      }
      const inputResponses = { q1: rootsOf(project, ['a']) };
      const states = [
        requestState,
        requestState,
        requestState.slice(0, -3),
        '',
        'x'.repeat(500_000),
      ];
      await Promise.all(
        states.map((state) =>
          ask(client, 'tools/call', { ...info, requestState: state, inputResponses }),
        ),
      );
    },
  },
  {
    name: 'rounds that are cancelled',
    play: async (client) => {
      for (let count = 0; count < 20; count++) {
        client.callAndCancel('workspace_info', {}, { _meta: envelope });
      }
      const { requestState } = await asking(client);
      const inputResponses = { q1: { roots: [] } };
      client.callAndCancel(
        'workspace_info',
        {},
        {
          _meta: envelope,
          ...{ requestState, inputResponses },
        },
      );
      await client.ping();
    },
  },
  {
    name: 'subscriptions that are ended',
    play: async (client) => {
      for (let count = 0; count < 20; count++) {
        client.askAndCancel(
          'subscriptions/listen',
          enveloped({ notifications: { toolsListChanged: true, resourcesListChanged: true } }),
        );
      }
      const many = Array.from({ length: 10_000 }, (_, at) => `file:///${at}`);
      await ask(client, 'subscriptions/listen', { notifications: { resourceSubscriptions: many } });
      await client.ping();
    },
  },
  {
    name: 'envelopes that are wrong',
    play: (client) =>
      Promise.all(
        [
          {},
          { ...envelope, [`${prefix}/protocolVersion`]: '2031-01-01' },
          { ...envelope, [`${prefix}/clientCapabilities`]: 7 },
        ].map((_meta) => client.request('server/discover', { _meta })),
      ),
  },
];
