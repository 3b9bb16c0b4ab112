/** Soak traffic, act by act. Each act ends when all its requests are answered. */
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Answer, SoakClient } from './client.ts';

export interface Act {
  readonly name: string;
  play(client: SoakClient, project: string): Promise<unknown>;
}

/** Line limit of the soaked server; longer lines are rejected. */
export const maxLineBytes = 1024 ** 2;

const changed = 'notifications/roots/list_changed';

/** Ordinary calls, none of which may fail. */
const ordinary: readonly (readonly [method: string, params: object])[] = [
  ['tools/list', {}],
  ['resources/list', {}],
  ['tools/call', { name: 'workspace_info', arguments: {} }],
  ['tools/call', { name: 'find_files', arguments: { globs: ['**/*.txt'], limit: 50 } }],
  ['tools/call', { name: 'search_text', arguments: { pattern: 'needle 7', limit: 20 } }],
];

const noMessages = [
  '',
  '{',
  'null',
  '[]',
  '[1,2]',
  '"text"',
  '{}',
  '{"jsonrpc":"1.0","id":"x","method":"ping"}',
  '{"jsonrpc":"2.0","method":7}',
  '{"jsonrpc":"2.0","id":{},"method":"ping"}',
  '{"jsonrpc":"2.0","id":null,"method":"ping"}',
  `{"jsonrpc":"2.0","method":"x","params":${'['.repeat(500)}${']'.repeat(500)}}`,
  Buffer.from([0xff, 0xfe, 0x00, 0x80]),
];

const answersToNothing: readonly object[] = [
  { jsonrpc: '2.0', id: 's-1-00000000-0000-4000-8000-000000000000', result: { roots: [] } },
  { jsonrpc: '2.0', id: 's-999999', result: {} },
  { jsonrpc: '2.0', id: 0, error: { code: 'text', message: 1 } },
  { jsonrpc: '2.0', id: 1 },
  { jsonrpc: '2.0', error: { code: -32_700, message: 'what?' } },
  { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 'x', progress: 1 } },
  { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'none' } },
];

const globs: readonly (readonly string[])[] = [
  [`${'{a,b}'.repeat(8)}zz`],
  Array.from({ length: 64 }, () => `{${Array.from({ length: 200 }, (_, at) => at).join(',')}}`),
  [`${'**/'.repeat(60)}*.txt`],
  [`${'*a'.repeat(200)}`],
  ['[', '{', '!**'],
];

const patterns = ['(a+)+$', '.*'.repeat(30), 'x', '(?:x?){200}x{200}', '[', '\\p{Nope}', '(?=x)'];

const paths = ['/etc/passwd', '../../etc/passwd', 'outside/etc/passwd', 'a\0b', '.', 'minified.js'];

/** Valid requests: any response is accepted, as long as there is one. */
const all = (answers: readonly Promise<Answer>[]) => Promise.all(answers);

export const acts: readonly Act[] = [
  {
    name: 'ordinary calls',
    play: async (client) => {
      for (const [method, params] of [...ordinary, ...ordinary]) {
        const { result, error } = await client.request(method, params);
        const isFailed = (result as { readonly isError?: boolean } | undefined)?.isError === true;
        if (error === undefined && !isFailed) continue;
        const fault = JSON.stringify(error ?? result).slice(0, 300);
        throw new Error(`FAILED: ${method} ${JSON.stringify(params)}: ${fault}`);
      }
    },
  },
  {
    name: 'lines that are no messages',
    play: (client) => {
      for (const line of noMessages) client.raw(line);
      return client.ping();
    },
  },
  {
    name: 'a line that is too long',
    play: (client) => {
      client.raw('x'.repeat(maxLineBytes + 10));
      return client.ping();
    },
  },
  {
    name: 'a flood of list_changed',
    play: (client) => {
      for (let count = 0; count < 1000; count++) client.notify(changed);
      return client.ping();
    },
  },
  {
    name: 'cancelled calls',
    play: (client) => {
      for (let count = 0; count < 40; count++) {
        client.callAndCancel('search_text', { pattern: 'needle' });
        client.callAndCancel('find_files', { globs: ['**/*'] });
      }
      return client.ping();
    },
  },
  {
    name: 'a client that stops reading',
    play: async (client) => {
      client.hold();
      const answers = Array.from({ length: 100 }, () =>
        client.call('find_files', { globs: ['**/*.txt'], limit: 2000 }),
      );
      const settled = all(answers);
      await delay(300);
      client.resume();
      await settled;
    },
  },
  {
    name: 'forged answers',
    play: (client) => {
      for (const answer of answersToNothing) client.send(answer);
      return client.ping();
    },
  },
  {
    name: 'answers that are wrong, doubled or none',
    play: async (client) => {
      const honest = client.onRequest;
      let asked = 0;
      client.onRequest = (id, method) => {
        const kind = asked++ % 4;
        if (kind === 0) client.send({ jsonrpc: '2.0', id, result: { roots: 'none' } });
        else if (kind === 1) client.send({ jsonrpc: '2.0', id });
        else if (kind === 2)
          client.send({ jsonrpc: '2.0', id, error: { code: -1, message: 'no' } });
        else {
          honest(id, method);
          honest(id, method);
        }
      };
      for (let count = 0; count < 4; count++) {
        client.notify(changed);
        await client.call('workspace_info');
      }
      client.onRequest = honest;
      client.notify(changed);
      await client.call('workspace_info');
    },
  },
  {
    name: 'roots that change',
    play: async (client, project) => {
      const honest = client.onRequest;
      for (const names of [['b'], ['a', 'b'], [], ['gone'], ['a']]) {
        client.onRequest = (id) =>
          client.send({ jsonrpc: '2.0', id, result: rootsOf(project, names) });
        client.notify(changed);
        await all([client.call('workspace_info'), client.call('find_files', { limit: 5 })]);
      }
      client.onRequest = honest;
      client.notify(changed);
      await client.call('workspace_info');
    },
  },
  {
    name: 'hostile globs',
    play: (client) =>
      Promise.all([
        client.ping(),
        ...globs.map((each) => client.call('find_files', { globs: each })),
      ]),
  },
  {
    name: 'hostile patterns',
    play: (client) =>
      Promise.all([
        client.ping(),
        ...patterns.map((pattern) => client.call('search_text', { pattern })),
      ]),
  },
  {
    name: 'hostile paths and arguments',
    play: (client) =>
      all([
        ...paths.map((path) => client.call('read_file', { path })),
        client.call('read_file', { path: 7 }),
        client.call('no_such_tool'),
        client.request('no/such/method'),
        client.request('resources/read', { uri: 'file:///etc/passwd' }),
      ]),
  },
];

/** Result of `roots/list`. */
export function rootsOf(project: string, names: readonly string[]): object {
  return { roots: names.map((name) => ({ uri: pathToFileURL(`${project}/${name}`).href, name })) };
}
