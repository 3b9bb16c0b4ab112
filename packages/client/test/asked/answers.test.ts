/** What a host answers when a server of the official SDK asks it. */
import { describe, expect, test } from 'vitest';
import { Answers } from '../../src/asked/answers.ts';
import type { ElicitAnswer, Providers, UrlProvider } from '../../src/asked/providers.ts';
import type { RequestContext } from '../../../../src/actors/request-context.ts';
import type { Fact } from '../../../../src/actors/facts.ts';
import { ProtocolError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { gate } from '../../../testing/src/index.ts';
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

describe('declared capabilities', () => {
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

  test('accepts additional capabilities, and rejects those without a provider', () => {
    const sample = () => Promise.reject(new Error());
    const given = { sampling: { tools: {} }, experimental: { x: {} } };
    expect(declaredBy({ sample }, given)).toEqual(given);
    expect(() => declaredBy({}, given)).toThrow(
      'The capability "sampling" is declared but has no provider: add one, or remove the capability',
    );
  });

  test('omits listChanged for a server that gets no notifications', () => {
    const host = { report: () => {}, asked: () => {}, withdrawn: () => {} };
    expect(new Answers({ roots: [] }, host).capabilities('untold')).toEqual({ roots: {} });
  });

  test('declares the given capabilities verbatim with onRequest', async () => {
    const host = { report: () => {}, asked: () => {}, withdrawn: () => {} };
    const given = { roots: { listChanged: true }, sampling: { tools: {} }, tasks: { list: {} } };
    const onRequest = (method: string) => Promise.resolve({ answered: method });
    const answers = new Answers({ onRequest }, host, given);
    expect(answers.isRaw).toBe(true);
    expect(answers.capabilities('told')).toBe(given);
    expect(answers.capabilities('untold')).toEqual({ roots: {}, sampling: { tools: {} } });
    expect(new Answers({ onRequest }, host).capabilities('untold')).toEqual({});
    expect(new Answers({}, host).isRaw).toBe(false);
    const [[, handler] = []] = answers.handlers;
    const call = { request: { method: 'odd/ask' } } as RequestContext;
    expect([answers.handlers.size, await handler?.({}, call)]).toEqual([
      1,
      { answered: 'odd/ask' },
    ]);
  });

  test.each([
    [{ roots: 'file:///a' as never }, '"roots" must be an array, got "file:///a"'],
    [{ roots: [{ uri: '/a' }] }, 'roots[0] must have a file:// "uri", got "/a"'],
    [{ roots: [{ uri: 'https://a' }] }, 'roots[0] must have a file:// "uri"'],
    [{ roots: [{ uri: 'file://[/' }] }, 'roots[0] must have a file:// "uri"'],
    [{ roots: [{ uri: 7 as never }] }, 'roots[0] must have a file:// "uri", got 7'],
    [{ roots: [{ uri: 'file:///a', name: 7 as never }] }, 'roots[0].name must be a string'],
    [{ onRequest: {} as never }, '"onRequest" must be a function, got an object'],
    [{ sample: {} as never }, '"sample" must be a function, got an object'],
    [{ elicit: { form: 1 as never } }, '"elicit" must be a function, got 1'],
  ])('rejects an invalid provider: %o [ANSWER-06]', (providers, message) => {
    expect(() => declaredBy(providers)).toThrow(message);
  });
});

describe('roots', () => {
  test('accepts a list or a function, and replaces them', async () => {
    let n = 0;
    const { answers, server } = await asking({ roots: () => [{ uri: `file:///${++n}` }] });
    expect(await server.listRoots()).toMatchObject({ roots: [{ uri: 'file:///1' }] });
    expect(await server.listRoots()).toMatchObject({ roots: [{ uri: 'file:///2' }] });
    expect(answers.setRoots([{ uri: 'file:///set', name: 'Set' }])).toBe(true);
    expect(await server.listRoots()).toEqual({ roots: [{ uri: 'file:///set', name: 'Set' }] });
  });

  test('does not announce roots that were not declared', () => {
    const host = { report: () => {}, asked: () => {}, withdrawn: () => {} };
    expect(new Answers({}, host).setRoots([])).toBe(false);
  });

  test('reports invalid roots to the host and hides details from the server [ANSWER-06] [ANSWER-07]', async () => {
    const { ask, facts } = await asking({ roots: () => [{ uri: 'secret' }] });
    await expect(ask('roots/list')).rejects.toMatchObject({
      code: -32603,
      message: 'MCP error -32603: Internal error',
    });
    expect(facts).toEqual([
      'error The host could not answer roots/list: TypeError: roots[0] must have a file:// "uri", got "secret"',
    ]);
  });
});

describe('form elicitation', () => {
  const fields = {
    name: { type: 'string', default: 'Ada' },
    age: { type: 'integer', default: 36 },
    score: { type: 'number', default: 0 },
    verified: { type: 'boolean', default: false },
    color: { type: 'string', enum: ['red', 'green'], default: 'green' },
    open: { type: 'string' },
  };

  test("fills in the schema's defaults for missing fields [ANSWER-04]", async () => {
    const { server } = await asking({ elicit: () => accept({ age: 7 }) });
    expect(await server.elicitInput(form(fields) as never)).toEqual({
      action: 'accept',
      content: { name: 'Ada', age: 7, score: 0, verified: false, color: 'green' },
    });
  });

  test.each(['decline', 'cancel'] as const)('sends no content after %s', async (action) => {
    const { server } = await asking({ elicit: () => ({ action, content: { name: 'x' } }) });
    expect(await server.elicitInput(form(fields) as never)).toEqual({ action });
  });

  test.each([
    [accept({ age: 1.5 }), '"age" must be an integer, got 1.5'],
    [accept({ color: 'blue' }), '"color" must be one of "red", "green", got "blue"'],
    [accept(), '"open" is missing'],
    [{ action: 'yes' } as never, 'accept, decline or cancel, got "yes"'],
    [undefined as never, 'accept, decline or cancel, got missing'],
    [accept('all' as never), 'The "content" of a form must be an object, got "all"'],
  ])('rejects an answer that does not match the form: %o [ANSWER-04]', async (answer, fault) => {
    const { ask, facts } = await asking({ elicit: () => answer });
    await expect(ask('elicitation/create', form(fields, ['open']))).rejects.toMatchObject({
      code: -32603,
    });
    expect(facts).toEqual([expect.stringContaining(fault)]);
  });

  test('leaves unknown field types to the server', async () => {
    const odd = { when: { type: 'string', format: 'odd' }, x: { type: 'object' }, none: null };
    const { ask } = await asking({ elicit: () => accept({ when: 'now', x: 'y' }) });
    expect(await ask('elicitation/create', form(odd))).toMatchObject({
      content: { when: 'now', x: 'y' },
    });
  });

  test.each([
    ['^(a+)+$', `${'a'.repeat(60)}!`],
    [`^${'a{0,40}'.repeat(12)}$`, `${'a'.repeat(290)}!`],
    ['^(?=(a*)*b)', 'a'.repeat(60)],
  ])('checks a pattern that would backtrack forever: %s', async (pattern, a) => {
    const hostile = form({ a: { type: 'string', pattern } });
    const { ask, facts } = await asking({ elicit: () => accept({ a }) });
    await expect(ask('elicitation/create', hostile)).rejects.toMatchObject({ code: -32603 });
    expect(facts).toEqual([expect.stringContaining(`"a" must match ${pattern}`)]);
    // So is the default that the server itself has given.
    const own = form({ a: { type: 'string', pattern, default: a } });
    const { ask: askForOwn } = await asking({ elicit: () => accept({}) });
    expect(await askForOwn('elicitation/create', own)).toMatchObject({ content: { a } });
  });

  test('leaves patterns without a time bound to the server', async () => {
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

  test('checks many choices in linear time', async () => {
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
    [{ message: 'Who?' }, '"requestedSchema" must be an object with "properties", got missing'],
    [{ requestedSchema: { properties: {} } }, '"message" must be a string, got missing'],
    [{ ...form({}), mode: 'odd' }, '"mode" must be "form" or "url", got "odd"'],
    [
      { mode: 'url', message: 'Go', url: 'https://a.example' },
      'has not declared "elicitation.url"',
    ],
  ])('rejects an invalid form without asking anyone: %o [ANSWER-10]', async (params, fault) => {
    const { ask } = await asking({ elicit: () => Promise.reject(new Error('asked')) });
    await expect(ask('elicitation/create', params)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(fault),
    });
  });

  test('rejects a form if the host only opens URLs', async () => {
    const { ask } = await asking({ elicit: { url: () => 'accept' } });
    await expect(ask('elicitation/create', form({}))).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('has not declared "elicitation.form"'),
    });
  });
});

describe('URL elicitation', () => {
  const go = { mode: 'url', message: 'Go', url: 'https://a.example/x', elicitationId: 'e1' };

  test('passes the URL to the host and reports completion later [ANSWER-11]', async () => {
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

  test('never fetches the URL [ANSWER-14]', async () => {
    const site = await scriptedServer((asked) => asked.text('x', 'text/html'));
    const { ask } = await asking({ elicit: { url: () => 'accept' } });
    expect(await ask('elicitation/create', { ...go, url: site.url.href })).toEqual({
      action: 'accept',
    });
    // Whatever had gone there before this would have come before this.
    await fetch(site.url);
    expect(site.asked).toHaveLength(1);
  });

  test('remembers an open URL until its completion, whatever follows', async () => {
    const ends: Promise<void>[] = [];
    const host = { report: () => {}, asked: () => {}, withdrawn: () => {} };
    const url: UrlProvider = (_, { completed }) => {
      ends.push(completed);
      return ends.length % 2 === 0 ? 'decline' : 'accept';
    };
    const answers = new Answers({ elicit: { url } }, host);
    const { signal } = new AbortController();
    for (let n = 0; n < 2100; n++) {
      await answers.answer('elicitation/create', { ...go, elicitationId: `e${n}` }, signal);
      if (n > 0 && n % 2 === 0) answers.completed({ elicitationId: `e${n}` });
    }
    answers.completed({ elicitationId: 'e0' });
    await expect(ends[0]).resolves.toBeUndefined();
  });

  test.each([
    { url: 'javascript:alert(1)' },
    { url: 'file:///etc/passwd' },
    { url: '/x' },
    { url: 7 },
    { message: 7 },
  ])('rejects a URL outside the web: %o', async (wrong) => {
    const { ask } = await asking({ elicit: { url: () => Promise.reject(new Error('asked')) } });
    await expect(ask('elicitation/create', { ...go, ...wrong })).rejects.toMatchObject({
      code: -32602,
    });
  });
});

describe('a request to the host', () => {
  test('reports the request and its cancellation, and fires the signal', async () => {
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

  test('does not cancel an answered request', async () => {
    const heard: string[] = [];
    const host = {
      report: () => {},
      asked: (method: string) => heard.push(`asked ${method}`),
      withdrawn: (method: string) => heard.push(`withdrawn ${method}`),
    };
    const server = new AbortController();
    await new Answers({ roots: [] }, host).answer('roots/list', undefined, server.signal);
    server.abort();
    expect(heard).toEqual(['asked roots/list']);
  });

  test('rejects a request without a provider [ANSWER-10]', async () => {
    const { ask, heard, answers } = await asking({ sample: () => Promise.reject(new Error()) });
    for (const method of ['roots/list', 'elicitation/create']) {
      await expect(ask(method)).rejects.toMatchObject({ code: -32601 });
    }
    expect([heard, [...answers.handlers.keys()]]).toEqual([[], ['sampling/createMessage']]);
  });

  test('rejects sampling without messages, without asking the model [ANSWER-10]', async () => {
    const { ask } = await asking({ sample: () => Promise.reject(new Error('asked')) });
    await expect(
      ask('sampling/createMessage', { messages: 'Hi', maxTokens: 1 }),
    ).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('"messages" must be an array, got "Hi"'),
    });
  });

  test('reports a failing provider, at debug level after a cancellation', async () => {
    const facts: Fact[] = [];
    const host = {
      report: (fact: Fact) => facts.push(fact),
      asked: () => {},
      withdrawn: () => {},
    };
    const error = new Error('closed');
    const server = new AbortController();
    const answers = new Answers(
      {
        elicit: {
          url: (_, { signal }) => {
            if (signal === server.signal && facts.length === 1) server.abort();
            throw error;
          },
        },
      },
      host,
    );
    for (let n = 0; n < 2; n++) {
      const url = { mode: 'url', message: 'Go', url: 'https://a.example' };
      await expect(answers.answer('elicitation/create', url, server.signal)).rejects.toMatchObject({
        code: -32603,
        message: 'Internal error',
      });
    }
    const fact = { name: 'provider.failed', details: { method: 'elicitation/create', error } };
    expect(facts).toEqual(
      ['error', 'debug'].map((level) => expect.objectContaining({ level, ...fact })),
    );
  });

  test('passes on a ProtocolError of the provider unchanged', async () => {
    const refuse = () => Promise.reject(new ProtocolError(-1, 'User rejected'));
    const { ask, facts } = await asking({ sample: refuse });
    await expect(
      ask('sampling/createMessage', { messages: [], maxTokens: 1 }),
    ).rejects.toMatchObject({ code: -1, message: 'MCP error -1: User rejected' });
    expect(facts).toEqual([]);
  });

  test('registers a handler per declared capability', async () => {
    const { answers } = await asking({ roots: [], elicit: () => accept() });
    expect([...answers.handlers.keys()]).toEqual(['roots/list', 'elicitation/create']);
  });
});
