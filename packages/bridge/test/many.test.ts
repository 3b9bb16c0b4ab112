/** Many servers behind one bridge, before official clients of both eras. */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import type { BridgeOptions } from 'mcp-actors/bridge';
import { scriptedConversation, enveloped } from 'mcp-actors/testing';
import { mergedName } from '../../client/src/hosts/merged-names.ts';
import { describeDump } from '../../diagnostics/src/dump-text.ts';
import { everything, hostOf } from './hosts.ts';
import type { Era, Host } from './hosts.ts';

const crowd = 'packages/bridge/test/crowd-server.mjs';

/** A server of the crowd, as a file names it. */
const server = (name: string, ...behaviour: readonly string[]) => ({
  command: process.execPath,
  args: [crowd, name, ...behaviour],
});

/** On a busy machine a server takes long to start. What is late is the subject of patience.test.ts. */
const patient: BridgeOptions = { report: () => {}, patienceMs: 60_000 };

async function host(
  era: Era,
  mcpServers: { readonly [name: string]: object },
  options: BridgeOptions = {},
): Promise<Host> {
  const made = await hostOf(era, bridge({ mcpServers }, { ...patient, ...options }));
  onTestFinished(() => made.close());
  return made;
}

const namesIn = async (to: Host, method: string, member: string, key = 'name') => {
  const { [member]: items } = (await to.request(method)) as { [member: string]: JsonObject[] };
  return items?.map((item) => item[key]);
};
const tools = (to: Host) => namesIn(to, 'tools/list', 'tools');

async function read(to: Host, uri: string): Promise<JsonObject> {
  const { contents } = (await to.request('resources/read', { uri })) as {
    contents: [JsonObject];
  };
  return contents[0];
}

interface Report {
  readonly name: string;
  readonly state: string;
  readonly since?: string;
  readonly why?: string;
}

async function reports(to: Host): Promise<{ readonly [name: string]: Report }> {
  const { text } = (await read(to, 'bridge://servers')) as { text: string };
  const { servers } = JSON.parse(text) as { servers: Report[] };
  return Object.fromEntries(servers.map((each) => [each.name, each]));
}

const two = { a: server('a'), b: server('b') };

describe.each(['legacy', 'modern'] as const)('a %s host of many servers', (era) => {
  test('reaches tools, resources, prompts and completions of all servers', async () => {
    const to = await host(era, two);
    const own = ['who', 'grow', 'link', 'touch', 'quit'];
    expect(await tools(to)).toEqual([
      ...own.map((name) => `a__${name}`),
      ...own.map((name) => `b__${name}`),
    ]);
    expect(await to.callTool('b__who')).toBe('b');
    expect(await namesIn(to, 'prompts/list', 'prompts')).toEqual(['a__greet', 'b__greet']);
    expect(await to.request('prompts/get', { name: 'b__greet' })).toMatchObject({
      messages: [{ content: { text: 'greet of b' } }],
    });
    const complete = async (ref: JsonObject) =>
      to.request('completion/complete', { ref, argument: { name: 'whom', value: '' } });
    expect(await complete({ type: 'ref/prompt', name: 'b__greet' })).toMatchObject({
      completion: { values: ['greet of b'] },
    });
    expect(await complete({ type: 'ref/resource', uri: 'b://item/{id}' })).toMatchObject({
      completion: { values: ['b://item/{id} of b'] },
    });
    expect(to.instructions).toBe('# a\n\nAsk a.\n\n# b\n\nAsk b.');
  });

  test('reads a URI of two servers from the first, and from the other by its prefixed URI', async () => {
    const to = await host(era, two);
    expect(await namesIn(to, 'resources/list', 'resources', 'uri')).toEqual([
      ...['bridge://servers', 'both://x', 'a://own', 'bridge:b/both://x', 'b://own'],
    ]);
    expect(await read(to, 'both://x')).toEqual({ uri: 'both://x', text: 'both://x of a' });
    expect(await read(to, 'bridge:b/both://x')).toEqual({
      uri: 'bridge:b/both://x',
      text: 'both://x of b',
    });
    expect(
      await namesIn(to, 'resources/templates/list', 'resourceTemplates', 'uriTemplate'),
    ).toEqual([
      ...['a://item/{id}', 'both://item/{id}', 'b://item/{id}', 'bridge:b/both://item/{id}'],
    ]);
    expect(await read(to, 'b://item/7')).toMatchObject({ text: 'b://item/7 of b' });
    expect(await read(to, 'bridge:b/both://item/7')).toMatchObject({
      text: 'both://item/7 of b',
    });
    // What nobody lists is refused, until a result has named it.
    await expect(read(to, 'hidden://b')).rejects.toThrow('hidden://b');
    await to.request('tools/call', { name: 'b__link', arguments: {} });
    expect(await read(to, 'hidden://b')).toMatchObject({ text: 'hidden://b of b' });
  });
});

describe.each(['legacy', 'modern'] as const)(
  'servers of both eras behind one bridge, for a %s host',
  (era) => {
    const of = (name: string) => ({
      command: process.execPath,
      args: [`packages/bridge/test/${name}-server.mjs`],
    });
    const both = { old: of('legacy'), new: of('modern') };

    test('form one list, and each asks, notifies and answers in its own era', async () => {
      const to = await host(era, both);
      const names = await tools(to);
      for (const name of ['old__echo', 'old__form', 'new__echo', 'new__form']) {
        expect(names).toContain(name);
      }
      expect(await namesIn(to, 'prompts/list', 'prompts')).toEqual(['old__greet', 'new__greet']);
      expect(await read(to, 'test://thing')).toMatchObject({ text: 'a thing' });
      expect(await read(to, 'bridge:new/test://thing')).toMatchObject({ text: 'a thing' });
      for (const server of ['old', 'new']) {
        to.asked.length = 0;
        expect(await to.callTool(`${server}__form`)).toContain('Ada');
        expect(await to.callTool(`${server}__sample`)).toContain('Hi');
        expect(to.asked.map(({ method }) => method)).toEqual([
          'elicitation/create',
          'sampling/createMessage',
        ]);
        const progress: unknown[] = [];
        const onprogress = (step: JsonObject) => void progress.push(step['progress']);
        expect(await to.callTool(`${server}__steps`, { onprogress })).toBe('done');
        expect(progress).toEqual([1, 2, 3]);
        expect(await to.callTool(`${server}__client`)).toContain('sampling');
      }
      expect(Object.values(await reports(to)).map(({ state }) => state)).toEqual([
        'ready',
        'ready',
      ]);
    });

    test('are offered no tasks, and task methods are rejected by name', async () => {
      const extension = { 'io.modelcontextprotocol/tasks': {}, 'example.org/other': {} };
      const declared = era === 'legacy' ? { tasks: {} } : { extensions: extension };
      const made = await hostOf(
        era,
        bridge({ mcpServers: { ...both, crowd: server('crowd', 'tools', 'tool=seen') } }, patient),
        { ...everything(era), ...declared },
      );
      onTestFinished(() => made.close());
      expect(made.capabilities).not.toHaveProperty('tasks');
      expect(made.capabilities).not.toHaveProperty('extensions');
      if (era === 'legacy') {
        await expect(made.request('tasks/get', { taskId: 't-1' })).rejects.toMatchObject({
          code: -32601,
          message: expect.stringContaining('tasks/get needs the capability "tasks"') as string,
        });
      }
      const call = { name: 'crowd__seen', arguments: { a: 1 }, task: { ttl: 1000 } };
      expect(JSON.stringify(await made.request('tools/call', call))).not.toContain('ttl');
      if (era === 'legacy') return;
      const told = await made.callTool('new__client');
      expect(told).toContain('example.org/other');
      expect(told).not.toContain('io.modelcontextprotocol/tasks');
    });
  },
);

test('rejects methods of the tasks extension and of unknown extensions by name', async () => {
  const { peer } = scriptedConversation(bridge({ mcpServers: two }, patient));
  peer.send(enveloped(1, 'tasks/get', { taskId: 't-1' }));
  expect(await peer.error(1)).toMatchObject({
    code: -32601,
    message: expect.stringContaining(
      'tasks/get needs the capability "io.modelcontextprotocol/tasks"',
    ) as string,
  });
  peer.send(enveloped(2, 'example.org/do', {}));
  expect(await peer.error(2)).toMatchObject({
    code: -32601,
    message: expect.stringContaining('the request names no server') as string,
  });
  peer.end();
});

test('cuts names over 64 characters and adds a digest, independently of other servers', async () => {
  const long = `t${'x'.repeat(70)}`;
  const one = { 'a b': server('ab', 'good', `tool=${long}`, 'tool=who.am.i') };
  const alone = await tools(await host('legacy', one));
  const to = await host('legacy', { first: server('first'), ...one, a_b: server('a_b') });
  const among = await tools(to);
  expect(among?.filter((name) => alone?.includes(name))).toEqual(alone);
  expect(new Set(among).size).toBe(among?.length);
  const shown = among?.find((name) => String(name).startsWith('a_b__tx')) as string;
  expect(shown).toMatch(/^a_b__tx{49}_[0-9a-f]{8}$/);
  expect(shown).toHaveLength(64);
  // Neither of these spells out its server; no list has to be read before.
  const fresh = await host('legacy', one);
  expect(await fresh.callTool(shown)).toBe(`${long} of ab`);
  await expect(fresh.callTool('a_b__nothing_00000000')).rejects.toThrow('There is no tool');
});

test('lists and calls the first of two tools with the same digest, and reports the conflict', async () => {
  const long = `t${'x'.repeat(70)}`;
  const [first, second] = [`${long}31091`, `${long}129377`];
  const facts: string[] = [];
  const report: BridgeOptions['report'] = ({ message }) => void facts.push(message);
  const to = await host(
    'legacy',
    { a: server('a', 'good', `tool=${first}`, `tool=${second}`) },
    { report },
  );
  const shown = mergedName({ server: 'a', tool: first });
  expect(mergedName({ server: 'a', tool: second })).toBe(shown);
  expect((await tools(to))?.filter((name) => name === shown)).toHaveLength(1);
  await tools(to);
  expect(await to.callTool(shown)).toBe(`${first} of a`);
  expect(facts.filter((each) => each.includes(shown))).toHaveLength(1);
});

test('replaces a changed list for every host, and notifies them', async () => {
  const to = await host('legacy', two);
  expect(await tools(to)).not.toContain('b__grown');
  const told = to.next('notifications/tools/list_changed');
  await to.callTool('b__grow');
  expect(await tools(to)).toContain('b__grown');
  await told;
});

test('notifies of subscribed resources under the URIs that the host used', async () => {
  const to = await host('legacy', two);
  await tools(to);
  await namesIn(to, 'resources/list', 'resources', 'uri');
  await to.request('resources/subscribe', { uri: 'bridge:b/both://x' });
  const touch = (name: string) =>
    to.request('tools/call', { name, arguments: { uri: 'both://x' } });
  await touch('b__touch');
  await touch('a__touch');
  const uris = to.told
    .filter(({ method }) => method === 'notifications/resources/updated')
    .map(({ params }) => params['uri']);
  expect(uris).toEqual(['bridge:b/both://x', 'both://x']);
  // Who logs is said by the name of its server.
  const loggers = to.told
    .filter(({ method }) => method === 'notifications/message')
    .map(({ params }) => params['logger']);
  expect(loggers).toEqual(['b: toucher', 'a: toucher']);
  // The level is set at all.
  await to.request('logging/setLevel', { level: 'warning' });
  const heard = to.told.map(({ params }) => params['data']);
  expect(heard).toEqual(expect.arrayContaining(['a logs warning', 'b logs warning']));
});

test('serves sixteen servers although four fail, and shows each failure', async () => {
  const bad = ['crash', 'hang', 'garbage', 'flood'];
  const names = Array.from({ length: 20 }, (_, at) => `s${at}`);
  const all = Object.fromEntries(names.map((name, at) => [name, server(name, bad[at] ?? 'tools')]));
  const noise: string[] = [];
  const to = await host('legacy', all, {
    patienceMs: 3000,
    onStderr: (text, from) => void (noise.length < 10 && noise.push(`${from} ${text.length}`)),
  });
  // The one that only makes noise works.
  await expect.poll(() => tools(to)).toHaveLength(17 * 5);
  expect(await to.callTool('s19__who')).toBe('s19');
  expect(await to.callTool('s3__who')).toBe('s3');
  expect(noise[0]).toMatch(/^s3 /);
  await expect.poll(async () => (await reports(to))['s0']?.why).toMatch(/exit|code 3/);
  const told = await reports(to);
  expect(told['s0']).toMatchObject({ state: expect.stringMatching(/failed|opening/) });
  expect(Date.parse(told['s0']?.since ?? '')).toBeLessThanOrEqual(Date.now());
  expect(told['s1']).toMatchObject({ state: 'opening' });
  expect(told['s2']?.state).toMatch(/opening|failed/);
  expect(told['s19']).toMatchObject({ state: 'ready', server: 'server s19 1' });
  const dumped = describeDump(to.session.dump());
  expect(dumped).toContain('Servers: 17 of 20 can be used');
  expect(dumped).toMatch(/ s0: (?:failed|opening) since \S+: .*code 3/);
  await expect(to.callTool('s0__who')).rejects.toThrow(/Server s0 is unavailable/);
});

test('keeps the tools of a lost server listed, and reconnects it', async () => {
  const to = await host('legacy', two);
  const before = await tools(to);
  await expect(to.callTool('a__quit')).rejects.toThrow();
  expect(await to.callTool('b__who')).toBe('b');
  await expect.poll(async () => (await reports(to))['a']?.state).toBe('ready');
  expect(await tools(to)).toEqual(before);
  expect(await to.callTool('a__who')).toBe('a');
});

describe('search instead of many tools', () => {
  test('offers three tools: find, describe and call', async () => {
    const to = await host('legacy', two, { search: true });
    expect(await tools(to)).toEqual(['find_tools', 'describe_tool', 'call_tool']);
    const call = (name: string, args: JsonObject) =>
      to.request('tools/call', { name, arguments: args });
    expect(await call('find_tools', { query: 'who b', limit: 2 })).toMatchObject({
      structuredContent: { tools: [{ name: 'b__who' }, { name: 'a__who' }] },
    });
    expect(await call('describe_tool', { name: 'b__who' })).toMatchObject({
      structuredContent: { name: 'b__who', inputSchema: { type: 'object' } },
    });
    expect(await call('call_tool', { name: 'b__who' })).toMatchObject({
      content: [{ text: 'b' }],
    });
    expect(await call('describe_tool', { name: 'b_who' })).toMatchObject({
      isError: true,
      content: [{ text: 'There is no tool "b_who". Did you mean b__who?' }],
    });
    await expect(call('call_tool', { name: 'c__who' })).rejects.toThrow('There is no tool');
  });

  test('applies only past a configured number of tools', async () => {
    const to = await host('legacy', two, { search: 11 });
    expect(await tools(to)).toHaveLength(10);
    await to.callTool('a__grow');
    expect(await tools(to)).toHaveLength(3);
  });
});
