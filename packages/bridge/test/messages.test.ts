/** What a bridge forwards of each message, and what it does not. */
import { describe, expect, test } from 'vitest';
import type { Fact, JsonObject } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import type { BridgeOptions } from 'mcp-actors/bridge';
import { begin, postHeaders } from '../../http/test/raw-client.ts';
import { serveHttp } from '../../http/test/serving.ts';
import { rawHost, rawServer } from './raw-host.ts';
import type { RawHost } from './raw-host.ts';

const warns = ({ name, level }: Fact) => name === 'notification.ignored' && level === 'warning';
const line = (message: object) => JSON.stringify({ jsonrpc: '2.0', ...message });

describe.each([
  ['one server', rawServer(), ''],
  ['many servers', { mcpServers: { a: rawServer() } }, 'a__'],
])('messages without an id before %s', (_, source, prefix) => {
  test("drops a host's request without an id, and reports its method once", async () => {
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

  test("drops a server's request without an id, and reports its method once", async () => {
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
])('with %s, rejects a tool name that is not a string with -32602', async (_, source, options) => {
  const host = await rawHost(source, options);
  for (const name of ['{"toString":"x"}', '{"__proto__":null}', 'null', '["say"]', '7']) {
    const answer = JSON.parse(await host.request('tools/call', `{"name":${name}}`)) as JsonObject;
    expect(answer).toMatchObject({ error: { code: -32602 } });
  }
});

test('omits a listed tool whose name is not a string where policies apply', async () => {
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
  test('reach the server unchanged', async () => {
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

  test('reach the host unchanged', async () => {
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

  test('are rejected next to a duplicate key, in both directions', async () => {
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

test('numbers beyond 2^53 pass a bridge over HTTP, which joins a multi-line message', async () => {
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

test('the confirmation shows the exact numbers that the server will get', async () => {
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

describe.each([
  ['one server', rawServer(), ''],
  ['many servers', { mcpServers: { a: rawServer() } }, 'a__'],
])('unknown members before %s', (_, source, prefix) => {
  const extra = '"_meta":{"example.org/a":1},"example.org/b":[2]';
  const say = (host: RawHost, line: string) =>
    host.call(`${prefix}say`, { lines: [line] }, { progressToken: 'p' });

  test('in progress and resource updates reach the host', async () => {
    const host = await rawHost(source);
    const progress = `{"progressToken":$TOKEN,"progress":1,${extra}}`;
    await say(host, `{"jsonrpc":"2.0","method":"notifications/progress","params":${progress}}`);
    const told = await host.lines.find((each) => each.includes('notifications/progress'));
    expect(JSON.parse(told)).toMatchObject({
      params: { progressToken: 'p', progress: 1, ...(JSON.parse(`{${extra}}`) as JsonObject) },
    });
    const updated = `{"uri":"a://b",${extra}}`;
    await say(
      host,
      `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":${updated}}`,
    );
    const changed = await host.lines.find((each) => each.includes('resources/updated'));
    expect(JSON.parse(changed)).toMatchObject({ params: JSON.parse(updated) });
  });

  test('in an error reach the host, and so does a key __proto__ in a result', async () => {
    const host = await rawHost(source);
    const error = `{"code":-31999,"message":"no","data":{"a":1},${extra}}`;
    const failed = await say(host, `{"jsonrpc":"2.0","id":$ID,"error":${error}}`);
    expect(failed['error']).toEqual(JSON.parse(error));
    const result = '{"content":[],"__proto__":{"a":1}}';
    const answer = await say(host, `{"jsonrpc":"2.0","id":$ID,"result":${result}}`);
    expect(JSON.stringify(answer['result'])).toBe(result);
  });

  test('and a key __proto__ in params reach the server', async () => {
    const host = await rawHost(source);
    const more = `"__proto__":{"a":1},"example.org/b":[2]`;
    const meta = `"_meta":{"progressToken":"p","__proto__":{"c":3}}`;
    await host.request('tools/call', `{"name":"${prefix}say",${more},"arguments":{},${meta}}`);
    const seen = await host.seen(`${prefix}seen`);
    expect(seen).toContain(more);
    expect(seen).toContain('"__proto__":{"c":3}');
  });

  test('a cancellation reaches the server with its reason', async () => {
    const host = await rawHost(source);
    host.write(
      line({
        id: 'c',
        method: 'tools/call',
        params: { name: `${prefix}say`, arguments: { silent: true } },
      }),
    );
    await host.seen(`${prefix}seen`);
    host.write(
      line({
        method: 'notifications/cancelled',
        params: { requestId: 'c', reason: 'changed my mind' },
      }),
    );
    expect(await host.seen(`${prefix}seen`)).toContain('"reason":"changed my mind"');
  });

  test('rejects a completion if the server declares none', async () => {
    const host = await rawHost(source);
    const ref = { type: 'ref/prompt', name: `${prefix}greet` };
    const params = JSON.stringify({ ref, argument: { name: 'a', value: '' } });
    const answer = JSON.parse(await host.request('completion/complete', params)) as JsonObject;
    expect(answer).toMatchObject({ error: { code: -32601 } });
    expect(await host.seen(`${prefix}seen`)).not.toContain('completion/complete');
  });
});

test('a cancelled question reaches the host with its reason', async () => {
  const host = await rawHost(rawServer());
  const asks = line({
    id: 'q',
    method: 'sampling/createMessage',
    params: { messages: [], maxTokens: 1 },
  });
  await host.call('say', { lines: [asks] });
  await host.lines.find((each) => each.includes('sampling'));
  const cancels = line({
    method: 'notifications/cancelled',
    params: { requestId: 'q', reason: 'not needed' },
  });
  await host.call('say', { lines: [cancels] });
  const told = await host.lines.find((each) => each.includes('notifications/cancelled'));
  expect(told).toContain('"reason":"not needed"');
});

test('forwards a completion to a 2024-11-05 server, which has no capability for it', async () => {
  const initialize = {
    protocolVersion: '2024-11-05',
    capabilities: { prompts: {} },
    serverInfo: { name: 'old', version: '1' },
  };
  const host = await rawHost(rawServer(JSON.stringify(initialize)));
  const answer = JSON.parse(await host.request('completion/complete', '{}')) as JsonObject;
  expect(answer).toMatchObject({ result: {} });
});

test('unknown members of the initialize result reach the host', async () => {
  const others = { _meta: { 'example.org/a': 1 }, 'example.org/b': [2] };
  const serverInfo = { name: 'raw', version: '1' };
  const initialize = {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo,
    ...others,
  };
  const entry = rawServer(JSON.stringify(initialize));
  expect((await rawHost(entry)).initialized).toEqual(initialize);
  const mcpServers = { a: entry };
  expect((await rawHost({ mcpServers }, { server: 'a' })).initialized).toEqual(initialize);
});

test('rejects a cursor it never issued before many servers', async () => {
  const host = await rawHost({ mcpServers: { a: rawServer() } });
  for (const list of ['tools', 'prompts', 'resources', 'resources/templates', 'skills']) {
    const answer = JSON.parse(await host.request(`${list}/list`, '{"cursor":"?"}')) as JsonObject;
    expect(answer).toMatchObject({ error: { code: -32602 } });
  }
});

test('does not forward a task request to a 2026-07-28 server', async () => {
  const discovered = {
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'raw', version: '1' } },
  };
  const host = await rawHost(rawServer(JSON.stringify(discovered)));
  const params = { name: 'say', arguments: { a: 1 }, task: { ttl: 1 } };
  await host.request('tools/call', JSON.stringify(params));
  const seen = await host.seen();
  expect(seen).toContain('"arguments":{"a":1}');
  expect(seen).not.toContain('"task"');
});
