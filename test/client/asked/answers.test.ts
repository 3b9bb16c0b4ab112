/** What a host answers when a server of the official SDK asks it. */
import { describe, expect, test } from 'vitest';
import { Answers } from '../../../src/client/asked/answers.ts';
import type { ElicitAnswer, Providers } from '../../../src/client/asked/providers.ts';
import { ProtocolError } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { gate } from '../../../src/testing/index.ts';
import { scriptedServer } from '../http/scripted-server.ts';
import { asking } from './asking.ts';

const form = (properties: JsonObject, required: readonly string[] = []) => ({
  message: 'Who?',
  requestedSchema: { type: 'object' as const, properties, required },
});
const accept = (content?: JsonObject): ElicitAnswer => ({
  action: 'accept',
  ...(content ? { content } : {}),
});

describe('what is declared', () => {
  const declaredBy = (providers: Providers, given?: JsonObject) =>
    new Answers(
      providers,
      { report: () => {}, asked: () => {}, withdrawn: () => {} },
      given,
    ).capabilities('told');
  const elicit = () => accept();

  test.each([
    [{}, {}],
    [{ roots: [] }, { roots: { listChanged: true } }],
    [{ sample: () => Promise.reject(new Error()) }, { sampling: {} }],
    [{ elicit }, { elicitation: { form: {} } }],
    [{ elicit: { url: () => 'accept' as const } }, { elicitation: { url: {} } }],
    [
      { elicit: { form: elicit, url: () => 'accept' as const } },
      { elicitation: { form: {}, url: {} } },
    ],
  ] satisfies [Providers, JsonObject][])(
    'is what is given: %o [ANSWER-05]',
    (providers, capabilities) => {
      expect(declaredBy(providers)).toEqual(capabilities);
    },
  );

  test('may be more than that, and nothing that nobody answers', () => {
    const sample = () => Promise.reject(new Error());
    const given = { sampling: { tools: {} }, experimental: { x: {} } };
    expect(declaredBy({ sample }, given)).toEqual(given);
    expect(() => declaredBy({}, given)).toThrow(
      'The capability "sampling" is declared, and no provider answers for it',
    );
  });

  test('to a server that is told no changes has no word of them', () => {
    const host = { report: () => {}, asked: () => {}, withdrawn: () => {} };
    expect(new Answers({ roots: [] }, host).capabilities('untold')).toEqual({ roots: {} });
  });

  test.each([
    [{ roots: 'file:///a' as never }, 'The roots must be an array, this is "file:///a"'],
    [{ roots: [{ uri: '/a' }] }, 'roots[0] must have a "uri" of file://, this is "/a"'],
    [{ sample: {} as never }, '"sample" must be a function, this is an object'],
    [{ elicit: { form: 1 as never } }, '"elicit" must be a function, this is 1'],
  ])('is refused if it is no provider: %o [ANSWER-06]', (providers, message) => {
    expect(() => declaredBy(providers)).toThrow(message);
  });
});

describe('roots', () => {
  test('are a list, or what makes one each time, and may be replaced', async () => {
    let n = 0;
    const { answers, server } = await asking({ roots: () => [{ uri: `file:///${++n}` }] });
    expect(await server.listRoots()).toMatchObject({ roots: [{ uri: 'file:///1' }] });
    expect(await server.listRoots()).toMatchObject({ roots: [{ uri: 'file:///2' }] });
    expect(answers.setRoots([{ uri: 'file:///set', name: 'Set' }])).toBe(true);
    expect(await server.listRoots()).toEqual({ roots: [{ uri: 'file:///set', name: 'Set' }] });
  });

  test('that were not declared are not told later', () => {
    const host = { report: () => {}, asked: () => {}, withdrawn: () => {} };
    expect(new Answers({}, host).setRoots([])).toBe(false);
  });

  test('that are none are a bug of the host, of which the server hears no details [ANSWER-06] [ANSWER-07]', async () => {
    const { ask, facts } = await asking({ roots: () => [{ uri: 'secret' }] });
    await expect(ask('roots/list')).rejects.toMatchObject({
      code: -32603,
      message: 'MCP error -32603: Internal error',
    });
    expect(facts).toEqual([
      'error The host could not answer roots/list: TypeError: roots[0] must have a "uri" of file://, this is "secret"',
    ]);
  });
});

describe('a form', () => {
  const fields = {
    name: { type: 'string', default: 'Ada' },
    age: { type: 'integer', default: 36 },
    score: { type: 'number', default: 0 },
    verified: { type: 'boolean', default: false },
    color: { type: 'string', enum: ['red', 'green'], default: 'green' },
    open: { type: 'string' },
  };

  test('gets the defaults of its schema for what the person has left alone [ANSWER-04]', async () => {
    const { server } = await asking({ elicit: () => accept({ age: 7 }) });
    expect(await server.elicitInput(form(fields) as never)).toEqual({
      action: 'accept',
      content: { name: 'Ada', age: 7, score: 0, verified: false, color: 'green' },
    });
  });

  test.each(['decline', 'cancel'] as const)('that ends with %s has no content', async (action) => {
    const { server } = await asking({ elicit: () => ({ action, content: { name: 'x' } }) });
    expect(await server.elicitInput(form(fields) as never)).toEqual({ action });
  });

  test.each([
    [accept({ age: 1.5 }), '"age" must be a whole number, this is 1.5'],
    [accept({ color: 'blue' }), '"color" must be one of "red", "green", this is "blue"'],
    [accept(), '"open" is missing'],
    [{ action: 'yes' } as never, 'accept, decline or cancel, this is "yes"'],
    [undefined as never, 'accept, decline or cancel, this is missing'],
  ])('that was filled in wrongly is not sent: %o [ANSWER-04]', async (answer, fault) => {
    const { ask, facts } = await asking({ elicit: () => answer });
    await expect(ask('elicitation/create', form(fields, ['open']))).rejects.toMatchObject({
      code: -32603,
    });
    expect(facts).toEqual([expect.stringContaining(fault)]);
  });

  test('of kinds that no revision knows is checked by its server', async () => {
    const odd = { when: { type: 'string', format: 'odd' }, x: { type: 'object' } };
    const { ask } = await asking({ elicit: () => accept({ when: 'now', x: 'y' }) });
    expect(await ask('elicitation/create', form(odd))).toMatchObject({
      content: { when: 'now', x: 'y' },
    });
  });

  test.each([
    ['^(a+)+$', `${'a'.repeat(60)}!`],
    [`^${'a{0,40}'.repeat(12)}$`, `${'a'.repeat(290)}!`],
    ['^(?=(a*)*b)', 'a'.repeat(60)],
  ])('with a pattern that would backtrack for ever is checked: %s', async (pattern, a) => {
    const hostile = form({ a: { type: 'string', pattern } });
    const { ask, facts } = await asking({ elicit: () => accept({ a }) });
    await expect(ask('elicitation/create', hostile)).rejects.toMatchObject({ code: -32603 });
    expect(facts).toEqual([expect.stringContaining(`"a" must match ${pattern}`)]);
    // So is the default that the server itself has given.
    const own = form({ a: { type: 'string', pattern, default: a } });
    const { ask: askForOwn } = await asking({ elicit: () => accept({}) });
    expect(await askForOwn('elicitation/create', own)).toMatchObject({ content: { a } });
  });

  test('with a pattern that cannot be matched in bounded time is checked by its server', async () => {
    const hostile = form({
      back: { type: 'string', pattern: String.raw`^(a+)+\1$` },
      many: { type: 'string', pattern: '((a{1000}){1000}){1000}' },
      long: { type: 'string', pattern: '(a|aa)*b' },
      late: { type: 'string', pattern: '(z|zz)*y' },
    });
    const content = { back: 'x', many: 'x', long: 'a'.repeat(1_000_000), late: 'z' };
    const { ask } = await asking({ elicit: () => accept(content) });
    expect(await ask('elicitation/create', hostile)).toMatchObject({ content });
  });

  test('with very many choices is checked in proportion to them', async () => {
    const choices = Array.from({ length: 100_000 }, (_, n) => `c${n}`);
    const hostile = form({
      all: { type: 'array', items: { type: 'string', enum: choices } },
      one: { type: 'string', enum: choices },
    });
    const { ask } = await asking({ elicit: () => accept({ all: choices, one: 'c99999' }) });
    expect(await ask('elicitation/create', hostile)).toMatchObject({ content: { one: 'c99999' } });
    const { ask: askAnother, facts } = await asking({ elicit: () => accept({ one: 'other' }) });
    await expect(askAnother('elicitation/create', hostile)).rejects.toThrow();
    expect(facts[0]?.length).toBeLessThan(2000);
  });

  test.each([
    [{ message: 'Who?' }, '"requestedSchema" must be an object with "properties", this is missing'],
    [{ requestedSchema: { properties: {} } }, '"message" must be a string, this is missing'],
    [{ ...form({}), mode: 'odd' }, '"mode" must be form or url, this is "odd"'],
    [
      { mode: 'url', message: 'Go', url: 'https://a.example' },
      'has not declared "elicitation.url"',
    ],
  ])('that is none is refused, and nobody is asked: %o [ANSWER-10]', async (params, fault) => {
    const { ask } = await asking({ elicit: () => Promise.reject(new Error('asked')) });
    await expect(ask('elicitation/create', params)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(fault),
    });
  });
});

describe('a URL', () => {
  const go = { mode: 'url', message: 'Go', url: 'https://a.example/x', elicitationId: 'e1' };

  test('is put to the host, who hears later that the person is done there [ANSWER-11]', async () => {
    const ends: Promise<void>[] = [];
    const { ask, server } = await asking({
      elicit: {
        url: ({ url }, { completed }) => {
          ends.push(completed);
          return url === go.url ? 'accept' : 'cancel';
        },
      },
    });
    expect(await ask('elicitation/create', go)).toEqual({ action: 'accept' });
    const tell = (elicitationId: string) =>
      server.notification({
        method: 'notifications/elicitation/complete',
        params: { elicitationId },
      });
    await tell('another');
    await tell('e1');
    await expect(ends[0]).resolves.toBeUndefined();
  });

  test('is for the person alone: nothing of it is fetched [ANSWER-14]', async () => {
    const site = await scriptedServer((asked) => asked.text('x', 'text/html'));
    const { ask } = await asking({ elicit: { url: () => 'accept' } });
    expect(await ask('elicitation/create', { ...go, url: site.url.href })).toEqual({
      action: 'accept',
    });
    // Whatever had gone there before this would have come before this.
    await fetch(site.url);
    expect(site.asked).toHaveLength(1);
  });

  test.each(['javascript:alert(1)', 'file:///etc/passwd', '/x', 7])(
    'that is none of the web is refused: %s',
    async (url) => {
      const { ask } = await asking({ elicit: { url: () => Promise.reject(new Error('asked')) } });
      await expect(ask('elicitation/create', { ...go, url })).rejects.toMatchObject({
        code: -32602,
      });
    },
  );
});

describe('a question', () => {
  test('is told to the host, and so is its withdrawal: the signal fires', async () => {
    const door = gate();
    const signals: AbortSignal[] = [];
    const {
      ask,
      server: sdk,
      heard,
    } = await asking({
      elicit: async (_, { signal }) => {
        signals.push(signal);
        await door.pass(signal);
        return accept();
      },
    });
    // The SDK takes no cancellation of its first id, which is 0.
    await sdk.ping();
    const server = new AbortController();
    const answer = ask('elicitation/create', form({}), server.signal);
    await door.arrived();
    const withdrawn = new Promise((resolve) => {
      signals[0]?.addEventListener('abort', resolve);
    });
    server.abort('not needed');
    await expect(answer).rejects.toThrow('not needed');
    await withdrawn;
    expect(heard).toEqual(['asked elicitation/create', 'withdrawn elicitation/create']);
  });

  test('that was answered is not withdrawn', async () => {
    const { ask, heard } = await asking({ roots: [] });
    await ask('roots/list');
    expect(heard).toEqual(['asked roots/list']);
  });

  test('that nobody answers is refused [ANSWER-10]', async () => {
    const { ask, heard } = await asking({});
    await expect(ask('roots/list')).rejects.toMatchObject({ code: -32601 });
    expect(heard).toEqual([]);
  });

  test('may be answered with an error of the host, untouched', async () => {
    const refuse = () => Promise.reject(new ProtocolError(-1, 'User rejected'));
    const { ask, facts } = await asking({ sample: refuse });
    await expect(
      ask('sampling/createMessage', { messages: [], maxTokens: 1 }),
    ).rejects.toMatchObject({ code: -1, message: 'MCP error -1: User rejected' });
    expect(facts).toEqual([]);
  });

  test('has a handler for the router of the connection if it is declared', async () => {
    const { answers } = await asking({ roots: [], elicit: () => accept() });
    expect([...answers.handlers.keys()]).toEqual(['roots/list', 'elicitation/create']);
  });
});
