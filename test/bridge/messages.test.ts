/** What a bridge forwards of each message, and what it does not. */
import { describe, expect, test } from 'vitest';
import type { Fact, JsonObject } from 'mcp-actors';
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
