/** What clients may do with the tools behind a bridge, before official clients of both eras. */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Fact, JsonObject } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import type { BridgeOptions } from 'mcp-actors/bridge';
import { readHosts } from 'mcp-actors/client';
import { StoreUnavailable } from 'mcp-actors/http';
import { TestClock, enveloped } from 'mcp-actors/testing';
import { CallRates } from '../src/call-rates.ts';
import { readRate } from '../../client/src/hosts/tool-policies.ts';
import { serveHttp } from '../../http/test/serving.ts';
import { everything, hostOf } from './hosts.ts';
import type { Era, Host } from './hosts.ts';

const crowd = (name: string, ...own: readonly string[]) => ({
  command: process.execPath,
  args: ['packages/bridge/test/crowd-server.mjs', name, 'tools', 'tool=change', ...own],
});
const modernServer = {
  command: process.execPath,
  args: ['packages/bridge/test/modern-server.mjs'],
};
const quiet = { report: () => {}, patienceMs: 60_000 } as const;

/** What a person does with a form: of a policy, or of a server. */
type Person = (params: JsonObject) => JsonObject;
const allows: Person = ({ message }) =>
  String(message).startsWith('Allow one call')
    ? { action: 'accept', content: { allow: true } }
    : { action: 'accept', content: { name: 'Ada' } };

async function host(
  era: Era,
  source: Parameters<typeof bridge>[0],
  options: BridgeOptions,
  { person = allows, capabilities = everything(era) } = {},
): Promise<Host> {
  const server = bridge(source, { ...quiet, ...options });
  const made = await hostOf(era, server, capabilities, { 'elicitation/create': person });
  onTestFinished(() => made.close());
  return made;
}

async function tools(to: Host): Promise<readonly unknown[]> {
  const names: unknown[] = [];
  let cursor: unknown;
  do {
    const page = await to.request('tools/list', cursor === undefined ? {} : { cursor });
    names.push(...(page['tools'] as JsonObject[]).map(({ name }) => name));
    cursor = page['nextCursor'];
  } while (cursor !== undefined);
  return names;
}

const call = (to: Host, name: string, args: JsonObject = {}) =>
  to.request('tools/call', { name, arguments: args });
const noTool = (name: string) => ({
  code: -32602,
  message: expect.stringContaining(`There is no tool "${name}"`) as string,
});
const annotate = (to: Host, called: string, annotations: JsonObject) =>
  call(to, 'change', { called, to: { annotations } });
const questions = (to: Host) => to.asked.filter(({ method }) => method === 'elicitation/create');

describe.each(['legacy', 'modern'] as const)('a %s host of a bridge with policies', (era) => {
  test('is not offered denied tools, or tools that are not allowed', async () => {
    const to = await host(era, crowd('a'), { policies: { deny: ['t*ch', 'gr*', 'quit'] } });
    expect(await tools(to)).toEqual(['who', 'link', 'change']);
    await expect(call(to, 'touch')).rejects.toMatchObject(noTool('touch'));
    const some = await host(era, crowd('a'), { policies: { allow: ['who', '*n*'], deny: ['l*'] } });
    expect(await tools(some)).toEqual(['who', 'change']);
    expect(await some.callTool('who')).toBe('a');
    await expect(call(some, 'link')).rejects.toMatchObject(noTool('link'));
  });

  test('is offered tools by their current annotations', async () => {
    const policies = { allow: ['@readOnly', 'change'] };
    const to = await host(era, crowd('a'), { policies });
    expect(await tools(to)).toEqual(['change']);
    await annotate(to, 'who', { readOnlyHint: true });
    expect(await tools(to)).toEqual(['who', 'change']);
    expect(await to.callTool('who')).toBe('a');
    await annotate(to, 'who', { readOnlyHint: false });
    await expect(call(to, 'who')).rejects.toMatchObject(noTool('who'));
    // What says nothing of itself is destructive.
    const careful = await host(era, crowd('a'), { policies: { deny: ['@destructive'] } });
    expect(await tools(careful)).toEqual([]);
  });

  test('of many servers is bound by the policies of the bridge and of each server', async () => {
    const servers = {
      a: { ...crowd('a'), policies: { deny: ['touch', 'quit'] } },
      b: { ...crowd('b'), policies: { ask: ['who'] } },
    };
    const policies = { deny: ['a__grow', '*__link'], rate: { b__grow: '1/day' } };
    const to = await host(era, { mcpServers: servers }, { policies });
    expect(await tools(to)).toEqual([
      ...['a__who', 'a__change'],
      ...['b__who', 'b__grow', 'b__touch', 'b__quit', 'b__change'],
    ]);
    await expect(call(to, 'a__touch')).rejects.toMatchObject({ code: -32602 });
    expect(await to.callTool('a__who')).toBe('a');
    expect(questions(to)).toEqual([]);
    expect(await to.callTool('b__who')).toBe('b');
    expect(questions(to)).toHaveLength(1);
    await call(to, 'b__grow');
    await expect(call(to, 'b__grow')).rejects.toThrow('Too many calls of grow of b');
    const { contents } = (await to.request('resources/read', { uri: 'bridge://servers' })) as {
      contents: [{ text: string }];
    };
    const { servers: reports } = JSON.parse(contents[0].text) as { servers: JsonObject[] };
    expect(reports[0]).toMatchObject({
      heldBack: ['grow', 'link', 'touch', 'quit'].map((tool) => ({
        tool,
        why: 'denied by a policy',
      })),
    });
  });

  test('asks for confirmation of each call with the server, tool and arguments', async () => {
    const to = await host(era, crowd('a'), { name: 'vault', policies: { ask: ['who'] } });
    for (const secret of ['one', 'two']) {
      const result = await call(to, 'who', { secret });
      expect(result).toMatchObject({ content: [{ text: 'a' }] });
    }
    const asked = questions(to).map(({ params }) => String(params['message']));
    expect(asked).toEqual([
      expect.stringMatching(
        /^Allow one call of who of vault\? Arguments: \{"secret":"one"\} \(sha256 [0-9a-f]{64}\)$/,
      ),
      expect.stringContaining('"two"'),
    ]);
    await call(to, 'link');
    expect(questions(to)).toHaveLength(2);
  });

  test.each([
    ['declines', { action: 'decline' }, /^DECLINED: The user declined/],
    ['leaves the box empty', { action: 'accept', content: { allow: false } }, /^DECLINED/],
    ['closes the form', { action: 'cancel' }, /^CANCELLED: The user was asked .* did not answer/],
  ])('does not call the tool if the person %s', async (_, answer, said) => {
    const policies = { ask: ['grow'] };
    const to = await host(era, crowd('a'), { policies }, { person: () => answer });
    const result = await call(to, 'grow');
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(said) }],
    });
    expect(await tools(to)).not.toContain('grown');
  });

  test('without elicitation is rejected with the missing capability', async () => {
    const options = { policies: { ask: ['grow'] } };
    const to = await host(era, crowd('a'), options, { capabilities: { sampling: {} } });
    const refused = call(to, 'grow');
    if (era === 'legacy') {
      expect(await refused).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^CAPABILITY_MISSING: .*"elicitation"/) }],
      });
    } else {
      await expect(refused).rejects.toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { elicitation: {} } },
      });
    }
    expect(await tools(to)).not.toContain('grown');
    expect(await to.callTool('who')).toBe('a');
  });

  test('is asked by the policy, then by a 2026-07-28 server, in one call', async () => {
    const to = await host(era, modernServer, { policies: { ask: ['form', 'url'] } });
    expect(await to.callTool('form')).toContain('Ada');
    expect(questions(to).map(({ params }) => String(params['message']).slice(0, 9))).toEqual([
      'Allow one',
      'Who?',
    ]);
    expect(await to.callTool('url')).toBe('accept');
    // What no policy is about goes through as before.
    expect(await to.callTool('sample')).toContain('Hi');
  });

  test('gets a retry time if it exceeds the rate', async () => {
    const to = await host(era, crowd('a'), {
      policies: { rate: { 'wh*': '2/day', '*': '100/h' } },
    });
    for (let nth = 0; nth < 2; nth++) expect(await to.callTool('who')).toBe('a');
    const error = await call(to, 'who').catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: era === 'legacy' ? -32000 : -32603,
      message: expect.stringMatching(/Too many calls of who of bridge: try again in 4\d{4} s/),
      data: { reason: 'rate-limited', server: 'bridge', retryable: true },
    });
    const { retryAfterMs } = (error as { data: { retryAfterMs: number } }).data;
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(12 * 3_600_000);
    expect(await to.callTool('link')).toBeDefined();
    await call(to, 'grow', { called: 'w'.repeat(513) });
    const long = call(to, 'w'.repeat(513));
    await expect(long).rejects.toMatchObject({ data: { retryable: false } });
  });

  test('is denied a tool under its listed and its full name', async () => {
    // Names that no model accepts are listed with a digest.
    const odd = { CROWD_TOOLS: JSON.stringify({ 'read all': {}, ['long'.repeat(20)]: {} }) };
    const mcpServers = { 'my server': { ...crowd('a'), env: odd }, plain: crowd('b') };
    const all = await tools(await host(era, { mcpServers }, {}));
    expect(all).toHaveLength(14);
    expect(
      await tools(await host(era, { mcpServers }, { policies: { deny: all as string[] } })),
    ).toEqual([]);
    const some = await host(
      era,
      { mcpServers },
      { policies: { deny: ['my_server__*', '*__t*ch'] } },
    );
    expect(await tools(some)).toEqual(all.filter((name) => /^plain__(?!touch)/.test(String(name))));
    for (const name of all.slice(0, 8)) {
      await expect(call(some, String(name))).rejects.toMatchObject({ code: -32602 });
    }
    const raw = await host(era, { mcpServers }, { policies: { allow: ['my server__read all'] } });
    expect(await tools(raw)).toEqual([all.find((name) => String(name).includes('read'))]);
  });

  test.each([
    ['a rate', crowd('a'), { policies: { rate: { '*': '1/day' } } }, ''],
    ['an annotation', crowd('a'), { policies: { deny: ['@readOnly'] } }, ''],
    [
      'a denied tool',
      { mcpServers: { a: crowd('a') } },
      { policies: { deny: ['a__link'] } },
      'a__',
    ],
    ['a filter', { mcpServers: { a: { ...crowd('a'), tools: { deny: ['link'] } } } }, {}, 'a__'],
  ])('with %s cannot call a tool under an unlisted name', async (_, source, options, prefix) => {
    const to = await host(era, source, options);
    for (const name of ['LINK', 'link ', 'link\0', 'WHO', 'who ', 'who\0']) {
      await expect(call(to, prefix + name)).rejects.toMatchObject({ code: -32602 });
    }
    expect(await to.callTool(`${prefix}who`)).toBe('a');
  });
});

describe("a person's confirmation", () => {
  /** Posts a call since 2026-07-28 as a principal. */
  async function caller(options: BridgeOptions) {
    const verifyToken = (subject: string) => ({ subject });
    const server = bridge(crowd('a'), { ...quiet, ...options });
    const url = await serveHttp(server, { authorization: { verifyToken }, report: () => {} });
    return async (principal: string, params: JsonObject): Promise<JsonObject> => {
      const headers = {
        ...{ authorization: `Bearer ${principal}`, 'content-type': 'application/json' },
        ...{ accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28' },
        ...{ 'mcp-method': 'tools/call', 'mcp-name': String(params['name']) },
      };
      const declared = { capabilities: { elicitation: { form: {} } } };
      const body = JSON.stringify(enveloped(1, 'tools/call', params, declared));
      const text = await (await fetch(url, { method: 'POST', headers, body })).text();
      return JSON.parse(text.replace(/^[^{]*data: /s, '')) as JsonObject;
    };
  }

  test('applies to one call of its principal, tool and arguments', async () => {
    const post = await caller({ policies: { ask: ['grow', 'touch'] } });
    const asked = { name: 'grow', arguments: { called: 'once' } };
    const { result } = (await post('ada', asked)) as { result: JsonObject };
    expect(result).toMatchObject({ resultType: 'input_required' });
    const { requestState, inputRequests } = result;
    const [key] = Object.keys(inputRequests as JsonObject);
    const answer = { action: 'accept', content: { allow: true } };
    const agreed = { requestState, inputResponses: { [String(key)]: answer } };
    const refused = { error: { code: -32602 } };
    expect(await post('bob', { ...asked, ...agreed })).toMatchObject(refused);
    expect(await post('ada', { ...asked, name: 'touch', ...agreed })).toMatchObject(refused);
    const other = { ...asked, arguments: { called: 'other' } };
    expect(await post('ada', { ...other, ...agreed })).toMatchObject(refused);
    const grew = { result: { content: [{ text: 'grew' }] } };
    expect(await post('ada', { ...asked, ...agreed })).toMatchObject(grew);
    // The same retry gets the same answer, and is no second call.
    expect(await post('ada', { ...asked, ...agreed })).toMatchObject(grew);
    expect(await post('ada', asked)).toMatchObject({ result: { resultType: 'input_required' } });
  });

  test('is requested per principal', async () => {
    const post = await caller({ policies: { rate: { who: '1/day' } } });
    const who = { name: 'who', arguments: {} };
    const done = { result: { content: [{ text: 'a' }] } };
    const late = { error: { data: { reason: 'rate-limited' } } };
    expect(await post('ada', who)).toMatchObject(done);
    expect(await post('ada', who)).toMatchObject(late);
    expect(await post('bob', who)).toMatchObject(done);
  });
});

describe('a rate across several nodes', () => {
  const many = { policies: { rate: { who: '2/day' } } };
  const late = { data: { reason: 'rate-limited' } };

  test('uses the shared count, and refunds locally what that refuses', async () => {
    const waits = [5000, 5000, 5000, 0, 0];
    const asked: string[] = [];
    const counts = {
      take: (who: string, rates: ReadonlyMap<string, unknown>) => {
        asked.push(`${who} ${[...rates.keys()].join()}`);
        return Promise.resolve(waits.shift() ?? 0);
      },
    };
    const to = await host('legacy', crowd('a'), { ...many, counts });
    for (let nth = 0; nth < 3; nth++) {
      await expect(call(to, 'who')).rejects.toMatchObject({
        data: { ...late.data, retryAfterMs: 5000 },
      });
    }
    expect([await to.callTool('who'), await to.callTool('who')]).toEqual(['a', 'a']);
    await expect(call(to, 'who')).rejects.toMatchObject(late);
    expect(new Set(asked)).toEqual(new Set(['["bridge","","who"] who\nwho']));
    expect(asked).toHaveLength(5);
    // No rate names it.
    expect(await to.callTool('link')).toBeDefined();
    expect(asked).toHaveLength(5);
  });

  test('is counted per node while the shared count is unavailable, with a log line', async () => {
    const facts: Fact[] = [];
    const counts = {
      take: () => Promise.reject(new StoreUnavailable('away', 'gone', { retryAfterMs: 1000 })),
    };
    const report = (fact: Fact) => void facts.push(fact);
    const to = await host('legacy', crowd('a'), { ...many, counts, report });
    expect([await to.callTool('who'), await to.callTool('who')]).toEqual(['a', 'a']);
    await expect(call(to, 'who')).rejects.toMatchObject(late);
    const told = facts.filter(({ name }) => name === 'bridge.counted-alone');
    expect(told).toHaveLength(2);
    expect(told[0]).toMatchObject({ level: 'warning', message: expect.stringContaining('gone') });
  });
});

describe('call rates', () => {
  const rate = readRate('1/min')!;
  const counted = (bounds?: ConstructorParameters<typeof CallRates>[1]) => {
    const clock = new TestClock();
    const rates = new CallRates(clock, bounds);
    const take = (who: string, tool: string) => rates.take(who, new Map([[tool, rate]]));
    return { clock, take };
  };

  test("limit one principal's buckets, so invented names gain nothing", () => {
    const { clock, take } = counted({ maxPairs: 10, maxOfOne: 3 });
    for (const tool of ['real', 'x1', 'x2']) expect(take('eve', tool)).toBe(0);
    expect(take('eve', 'x3')).toBe(1000);
    expect(take('eve', 'real')).toBe(60_000);
    expect(take('ada', 'real')).toBe(0);
    clock.increment(60_000);
    expect(take('eve', 'x3')).toBe(0);
  });

  test('allow a burst, then one call at a time', () => {
    const { clock, take } = counted();
    for (let nth = 0; nth < 2; nth++) {
      expect(take('ada', 'a')).toBe(0);
      expect(take('ada', 'a')).toBe(60_000);
      clock.increment(59_999);
      expect(take('ada', 'a')).toBe(1);
      clock.increment(1);
    }
  });

  test('are exact if time passes while a call is counted', () => {
    const clock = new TestClock();
    const moving = Object.assign(Object.create(clock) as TestClock, {
      now: () => {
        clock.increment(1);
        return clock.now();
      },
    });
    const rates = new CallRates(moving);
    expect(rates.take('ada', new Map([['who', readRate('1/day')!]]))).toBe(0);
  });

  test('limit all buckets, and drop only full ones', () => {
    const { clock, take } = counted({ maxPairs: 2, maxOfOne: 2 });
    expect(take('ada', 'a')).toBe(0);
    clock.increment(30_000);
    expect(take('bob', 'a')).toBe(0);
    expect(take('eve', 'a')).toBe(1000);
    clock.increment(30_000);
    expect(take('eve', 'a')).toBe(0);
    expect(take('bob', 'a')).toBe(30_000);
  });
});

test.each([
  [{ denied: [] }, 'policies.denied: there is no such key: there are allow, deny, ask, rate'],
  [{ ask: ['@safe'] }, 'policies.ask[0]: "@safe" is not a name of at most 256 characters'],
  [{ rate: { 'a*': '10 per minute' } }, 'is not a number of calls in a time, such as 5/s'],
  [['who'], 'is not an object with any of allow, deny, ask, rate'],
])('rejects the policies %j immediately', (policies, said) => {
  expect(() => bridge(crowd('a'), { policies: policies as never })).toThrow(said);
  const { faults } = readHosts({ mcpServers: { a: { ...crowd('a'), policies } } });
  expect(faults.map(({ key, message }) => `${key}: ${message}`).join('\n')).toContain(said);
});

test('does not count invented tool names', async () => {
  const to = await host('legacy', crowd('a'), { policies: { rate: { '*': '1/day' } } });
  const calls = Array.from({ length: 1001 }, (_, nth) => call(to, `invented ${nth}`));
  const settled = await Promise.allSettled(calls);
  expect(settled.every((each) => each.status === 'rejected')).toBe(true);
  expect(await to.callTool('who')).toBe('a');
});

describe('a policy pattern that matches no tool', () => {
  const reported = async (source: Parameters<typeof bridge>[0], options: BridgeOptions) => {
    const facts: Fact[] = [];
    const to = await host('legacy', source, { ...options, report: (fact) => facts.push(fact) });
    await tools(to);
    await tools(to);
    return facts.filter(({ name }) => name === 'bridge.pattern-unmatched');
  };

  test('is reported once, after all servers have listed their tools', async () => {
    const policies = { deny: ['a__who', '*link', 'c__*', '@readOnly'], ask: ['b__grown'] };
    const facts = await reported({ mcpServers: { a: crowd('a'), b: crowd('b') } }, { policies });
    expect(facts).toHaveLength(1);
    expect(facts[0]?.level).toBe('warning');
    expect(facts[0]?.message).toMatch(/"c__\*", "b__grown"$/);
  });

  test('is reported for policies of one server, and for a bridge of one', async () => {
    const own = { ...crowd('a'), policies: { ask: ['whom'], deny: ['who'] } };
    expect(await reported({ mcpServers: { a: own, b: crowd('b') } }, {})).toHaveLength(1);
    expect(await reported(crowd('a'), { policies: { rate: { 'a__*': '1/s' } } })).toHaveLength(1);
  });

  test('is not reported while a server has listed no tools', async () => {
    const broken = {
      command: process.execPath,
      args: ['packages/bridge/test/crowd-server.mjs', 'b', 'crash'],
    };
    const policies = { deny: ['b__who'] };
    const source = { mcpServers: { a: crowd('a'), b: broken } };
    expect(await reported(source, { policies })).toEqual([]);
  });
});

test('a single server of a configuration has its own names, filter and policies', async () => {
  const mcpServers = {
    a: { ...crowd('a'), tools: { deny: ['link'] }, policies: { deny: ['touch'] } },
    b: crowd('b'),
  };
  const to = await host('legacy', { mcpServers }, { server: 'a', policies: { deny: ['quit'] } });
  expect(await tools(to)).toEqual(['who', 'grow', 'change']);
  expect(() => bridge({ mcpServers }, { server: 'c' })).toThrow('there is no such server');
});
