/** What a bridge forwards of each message, and what it does not. */
import { describe, expect, test } from 'vitest';
import type { Fact, JsonObject } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import type { BridgeOptions } from 'mcp-actors/bridge';
import { begin, postHeaders } from '../http/raw-client.ts';
import { serveHttp } from '../http/serving.ts';
import { rawHost, rawServer } from './raw-host.ts';

const warns = ({ name, level }: Fact) => name === 'notification.ignored' && level === 'warning';
const line = (message: object) => JSON.stringify({ jsonrpc: '2.0', ...message });

describe.each([
  ['one server', rawServer(), ''],
  ['many servers', { mcpServers: { a: rawServer() } }, 'a__'],
])('before %s', (_, source, prefix) => {
  test('forwards no request of the host that lacks an id, and reports its method once', async () => {
    const host = await rawHost(source, { policies: { deny: ['*say'] } });
    const params = { name: `${prefix}say`, arguments: {} };
    for (let nth = 0; nth < 3; nth++) host.write(line({ method: 'tools/call', params }));
    host.write(line({ method: 'notifications/roots/list_changed' }));
    host.write(line({ method: 'notifications/example.org/new', params: { n: 1 } }));
    const seen = await host.seen(`${prefix}seen`);
    expect(seen).not.toContain('"say"');
    expect(seen).toContain('notifications/roots/list_changed');
    expect(seen).toContain('notifications/example.org/new');
    const reports = host.facts.filter(warns);
    expect(reports).toHaveLength(1);
  });

  test('forwards no request of a server that lacks an id, and reports its method once', async () => {
    const host = await rawHost(source);
    const asks = line({ method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } });
    const tells = line({ method: 'notifications/example.org/new', params: { n: 1 } });
    const nameless = line({ method: '' });
    await host.call(`${prefix}say`, { lines: [asks, asks, nameless, tells] });
    await host.lines.find((each) => each.includes('notifications/example.org/new'));
    expect(host.lines.all.filter((each) => each.includes('sampling'))).toEqual([]);
    const reports = host.facts.filter(warns);
    expect(reports).toHaveLength(2);
  });
});

test.each([
  ['a policy', rawServer(), { policies: { rate: { '*': '9/s' } } }],
  ['an annotation', rawServer(), { policies: { ask: ['@readOnly'] } }],
  ['many servers', { mcpServers: { a: rawServer() } }, {}],
])(
  'with %s, a name of a tool that is not a string is refused with -32602',
  async (_, source, options) => {
    const host = await rawHost(source, options);
    for (const name of ['{"toString":"x"}', '{"__proto__":null}', 'null', '["say"]', '7']) {
      const answer = JSON.parse(await host.request('tools/call', `{"name":${name}}`)) as JsonObject;
      expect(answer).toMatchObject({ error: { code: -32602 } });
    }
  },
);

test('a listed tool whose name is not a string is left out where policies apply', async () => {
  const host = await rawHost(rawServer(undefined, '{"toString":"x"}'), {
    policies: { deny: ['seen'] },
  });
  const answer = JSON.parse(await host.request('tools/list')) as {
    result: { tools: JsonObject[] };
  };
  expect(answer.result.tools.map(({ name }) => name)).toEqual(['say']);
});

const numbers =
  '{"big":9007199254740993,"list":[-9223372036854775808,{"deep":{"deeper":[18446744073709551615]}}],"fraction":0.12345678901234567890,"huge":1e400,"text":"9007199254740993, \\"{"}';

describe.each([
  ['one server', rawServer(), '', {}],
  ['many servers', { mcpServers: { a: rawServer() } }, 'a__', {}],
  ['one server with policies', rawServer(), '', { policies: { ask: ['@readOnly'] } }],
] as const)('numbers beyond 2^53 before %s', (_, source, prefix, options: BridgeOptions) => {
  test('reach the server as they were written', async () => {
    const host = await rawHost(source, options);
    const spaced = numbers.replace(':', ' :\t');
    const params = (args: string) =>
      `{"name":"${prefix}say","_meta":{"progressToken":"p"},"arguments":${args}}`;
    await host.request('tools/call', params(numbers));
    await host.request('tools/call', params(spaced));
    const seen = await host.seen(`${prefix}seen`);
    expect(seen).toContain(`"arguments":${numbers}`);
    expect(seen).toContain(`"arguments":${spaced}`);
  });

  test('reach the host as they were written', async () => {
    const host = await rawHost(source, options);
    const result = `{"content":[{"type":"text","text":"n"}],"structuredContent":${numbers}}`;
    const lines = [`{"jsonrpc":"2.0","result":${result},"id":$ID}`];
    const params = { name: `${prefix}say`, arguments: { lines } };
    const answer = await host.request('tools/call', JSON.stringify(params));
    expect(answer).toContain(numbers);
    const failed = [
      `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"no","data":${numbers}}}`,
    ];
    const error = await host.request(
      'tools/call',
      JSON.stringify({ ...params, arguments: { lines: failed } }),
    );
    expect(error).toContain(`"data":${numbers}`);
  });

  test('are refused beside a key that is repeated, in either direction', async () => {
    const host = await rawHost(source, options);
    for (const twice of ['"n":1,"n":2', '"\\u006e":1,"o":[{"n":1},{"n":1,"n":1}]']) {
      const params = `{"name":"${prefix}say","arguments":{${twice},"big":9007199254740993}}`;
      const refused = JSON.parse(await host.request('tools/call', params)) as JsonObject;
      expect(refused).toMatchObject({ error: { code: -32700 } });
      const lines = [`{"jsonrpc":"2.0","id":$ID,"result":{"content":[],${twice},"big":1e999}}`];
      const answer = await host.call(`${prefix}say`, { lines });
      expect(answer).toMatchObject({ error: { code: -32000, data: { code: 'INVALID_RESPONSE' } } });
    }
    expect(await host.seen(`${prefix}seen`)).not.toContain('9007199254740993');
    // Without such a number the values are written anew: the server runs what was checked.
    await host.request(
      'tools/call',
      `{"name":"?","name":"${prefix}say","arguments":{"n":1,"n":2}}`,
    );
    expect(await host.seen(`${prefix}seen`)).toContain('"arguments":{"n":2}');
  });
});

test('numbers beyond 2^53 pass a bridge over HTTP, which writes a message of several lines on one', async () => {
  const report = () => {};
  const url = await serveHttp(bridge(rawServer(), { report }), { report });
  const host = await rawHost({ url: url.href });
  const lines = [`{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"n":[9007199254740993]}}`];
  const params = `{"name":"say","arguments":{"n":9007199254740993,"lines":${JSON.stringify(lines)}}}`;
  const answer = await host.request('tools/call', params);
  expect(answer).toContain('"n":[9007199254740993]');
  expect(await host.seen()).toContain('"n":9007199254740993');
  const session = await begin(url);
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'say', arguments: { m: 1 } },
  };
  const body = JSON.stringify(message, undefined, 2).replace('"m": 1', '"m": 1e400');
  await (
    await fetch(url, { method: 'POST', headers: { ...postHeaders, ...session.headers }, body })
  ).text();
  const seen = await (await session.post({ ...message, id: 2, params: { name: 'seen' } })).text();
  expect(seen).toContain('1e400');
});

test('a person is asked about the numbers that the server will get', async () => {
  const asked = await rawHost(rawServer(), { policies: { ask: ['say'] } }, { elicitation: {} });
  const call = (n: string) => asked.request('tools/call', `{"name":"say","arguments":{"n":${n}}}`);
  const digests = [];
  for (const n of ['9007199254740993', '9007199254740992.0']) {
    const answered = call(n);
    const question = await asked.lines.find((each) => each.includes(n) && each.includes('elicit'));
    digests.push(/sha256 ([0-9a-f]{64})/.exec(question)?.[1]);
    const { id } = JSON.parse(question) as { id: string };
    const result = { action: 'accept', content: { allow: true } };
    asked.write(JSON.stringify({ jsonrpc: '2.0', id, result }));
    await answered;
  }
  expect(new Set(digests).size).toBe(2);
  expect(await asked.seen()).toContain('"arguments":{"n":9007199254740993}');
});
