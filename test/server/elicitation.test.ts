import { UrlElicitationRequired, createMcpServer, defineForm, defineTool } from 'mcp-actors';
import type { HandlerContext, JsonObject, Tool } from 'mcp-actors';
import type { FormSource } from '../../packages/schema/src/forms/form.ts';
import { cancelled, toolCall } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { eachRevisionAndHttp, everywhere, since } from '../contract/everywhere.ts';
import { connect, operateWarm, textOf, tool } from '../contract/serving.ts';

const method = 'elicitation/create';
const complete = 'notifications/elicitation/complete';
const both = { elicitation: { form: {}, url: {} } };
const uuid = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

const contact = defineForm({
  type: 'object',
  properties: { name: { type: 'string', default: 'x' }, age: { type: 'integer', minimum: 18 } },
  required: ['name'],
});

/** A tool whose text is what came of an action, or the error, as JSON. */
function outcomeOf(
  name: string,
  act: (context: HandlerContext, args: JsonObject) => unknown,
): Tool {
  return tool(name, async (args, context) => {
    try {
      return JSON.stringify(await act(context, args));
    } catch (error) {
      if (error instanceof UrlElicitationRequired) throw error;
      const {
        name: kind,
        code,
        message,
      } = error as { name: string; code?: string; message: string };
      return JSON.stringify({ name: kind, code, message });
    }
  });
}

const tools = [
  outcomeOf('form', (context) => context.elicit({ message: 'Who?', schema: contact })),
  outcomeOf('any', (context, { schema }) =>
    context.elicit({ message: 'What?', schema: schema as FormSource }),
  ),
  outcomeOf('open', (context, { url }) =>
    context.elicitUrl({ message: 'Pay', url: (url ?? 'https://a.example/pay') as string }),
  ),
  outcomeOf('required', (context) => {
    throw context.urlElicitationRequired([
      { message: 'Sign in', url: (id) => `https://a.example/in?e=${id}` },
      { message: 'Pay', url: new URL('https://b.example') },
    ]);
  }),
  outcomeOf('completed', ({ session }, { id }) => session.elicitationCompleted(id as string)),
];
const start = (options: Parameters<typeof operateWarm>[1]) => operateWarm({ tools }, options);
const read = (result: JsonObject | undefined) => JSON.parse(textOf(result)) as JsonObject;
const isKnown = (revision: string) => revision >= '2025-06-18';
const hasUrls = (revision: string) => revision === '2025-11-25';

everywhere('elicitation', eachRevisionAndHttp, (combination) => {
  const { revision } = combination;

  test('elicits a form and returns its content [ELICIT-03] [ELICIT-05] [ELICIT-06]', async () => {
    const { peer } = await start({ ...combination, capabilities: { elicitation: {} } });
    peer.send(toolCall(1, 'form'));
    if (!isKnown(revision)) {
      expect(read((await peer.response(1)).result)).toMatchObject({ code: 'CAPABILITY_MISSING' });
      expect(peer.count(method)).toBe(0);
      return;
    }
    const asked = await peer.request(method);
    expect(asked.params).toEqual({
      ...(hasUrls(revision) ? { mode: 'form' } : {}),
      message: 'Who?',
      requestedSchema: {
        type: 'object',
        properties: {
          name: { type: 'string', ...(hasUrls(revision) ? { default: 'x' } : {}) },
          age: { type: 'integer', minimum: 18 },
        },
        required: ['name'],
      },
    });
    const content = { name: 'Ada', age: 36 };
    peer.answer(asked, { action: 'accept', content });
    expect(read((await peer.response(1)).result)).toEqual({ action: 'accept', content });
  });

  test('elicits a URL and sends its completion once [ELICIT-03] [ELICIT-08] [ELICIT-09]', async () => {
    const { peer } = await start({ ...combination, capabilities: both });
    peer.send(toolCall(1, 'open'));
    if (!hasUrls(revision)) {
      expect(read((await peer.response(1)).result)).toMatchObject({ code: 'CAPABILITY_MISSING' });
      expect(peer.count(method)).toBe(0);
      return;
    }
    const asked = await peer.request(method);
    const { elicitationId } = asked.params as { readonly elicitationId: string };
    expect(elicitationId).toMatch(uuid);
    expect(asked.params).toEqual({
      mode: 'url',
      elicitationId,
      message: 'Pay',
      url: 'https://a.example/pay',
    });
    peer.answer(asked, { action: 'accept' });
    expect(read((await peer.response(1)).result)).toEqual({ action: 'accept', elicitationId });
    expect(peer.count(complete)).toBe(0);
    expect(textOf(await peer.call('completed', { id: elicitationId }))).toBe('true');
    expect(await peer.notification(complete)).toMatchObject({ params: { elicitationId } });
    expect(textOf(await peer.call('completed', { id: elicitationId }))).toBe('false');
    expect(peer.count(complete)).toBe(1);
  });

  test('answers with -32042 if a URL must be opened first [ELICIT-10]', async () => {
    const { peer } = await start({ ...combination, capabilities: both });
    peer.send(toolCall(1, 'required'));
    if (!hasUrls(revision)) {
      expect(read((await peer.response(1)).result)).toMatchObject({ code: 'CAPABILITY_MISSING' });
      return;
    }
    const { code, data } = await peer.error(1);
    const { elicitations } = data as {
      readonly elicitations: readonly { readonly elicitationId: string }[];
    };
    const [first, second] = elicitations.map(({ elicitationId }) => elicitationId);
    expect(code).toBe(-32042);
    expect(first).not.toBe(second);
    expect(elicitations).toEqual([
      {
        mode: 'url',
        elicitationId: first,
        url: `https://a.example/in?e=${first}`,
        message: 'Sign in',
      },
      { mode: 'url', elicitationId: second, url: 'https://b.example/', message: 'Pay' },
    ]);
    const { UrlElicitationRequiredError } = await import('@modelcontextprotocol/sdk/types.js');
    expect(new UrlElicitationRequiredError(elicitations as never).elicitations).toHaveLength(2);
    expect(textOf(await peer.call('completed', { id: second }))).toBe('true');
    await peer.notification(complete);
  });
});

describe('a form elicitation', () => {
  test('is cancelled together with its call [CANCEL-05]', async () => {
    const { peer } = await start({ capabilities: { elicitation: {} } });
    peer.send(toolCall(1, 'form'));
    const { id } = await peer.request(method);
    peer.send(cancelled(1));
    expect((await peer.notification('notifications/cancelled')).params?.['requestId']).toBe(id);
  });
});

describe('a client with capabilities', () => {
  test.each<[object, readonly string[]]>([
    [{}, []],
    [{ elicitation: {} }, ['form']],
    [{ elicitation: { form: {} } }, ['form']],
    [{ elicitation: { form: { applyDefaults: true } } }, ['form']],
    [{ elicitation: { url: {} } }, ['open']],
    [{ elicitation: { form: {}, url: {} } }, ['form', 'open']],
    [{ elicitation: { form: true, url: true } }, []],
    [{ elicitation: [] }, []],
  ])(
    'declaring %j gets the elicitation modes %j [ELICIT-01] [ELICIT-02]',
    async (capabilities, modes) => {
      const { peer } = await start({ capabilities: capabilities as JsonObject });
      for (const name of ['form', 'open', 'required'] as const) {
        peer.send(toolCall(name, name));
        const isAllowed = modes.includes(name === 'required' ? 'open' : name);
        if (isAllowed && name !== 'required') {
          peer.answer(await peer.request(method), { action: 'cancel' });
        }
        const response = await peer.response(name);
        if (isAllowed) expect(response.error?.code).toBe(name === 'required' ? -32042 : undefined);
        else expect(read(response.result)).toMatchObject({ code: 'CAPABILITY_MISSING' });
      }
      expect(peer.count(method)).toBe(modes.length);
    },
  );
});

everywhere('a client with capabilities', eachRevisionAndHttp, ({ revision }) => {
  test('declaring only forms gets no URL through context.request [ELICIT-01] [ELICIT-03]', async () => {
    const raw = outcomeOf('raw', (context, params) => context.request(method, params));
    const { peer } = await operateWarm({ tools: [raw] }, { capabilities: { elicitation: {} } });
    const url = await peer.call('raw', {
      mode: 'url',
      url: 'https://a.example',
      elicitationId: '1',
      message: '',
    });
    expect(read(url)).toMatchObject({ code: 'CAPABILITY_MISSING' });
    if (isKnown(revision)) return;
    const form = await peer.call('raw', {
      message: '',
      requestedSchema: { type: 'object', properties: {} },
    });
    expect(read(form)).toMatchObject({ code: 'CAPABILITY_MISSING' });
  });
});

describe('the answer to a form', () => {
  const answered = async (answer: JsonObject) => {
    const { peer } = await start({ capabilities: { elicitation: {} } });
    peer.send(toolCall(1, 'form'));
    peer.answer(await peer.request(method), answer);
    return read((await peer.response(1)).result);
  };

  test.each(['decline', 'cancel'])(
    'can be %s regardless of its content [ELICIT-06] [ELICIT-07]',
    async (action) => {
      expect(await answered({ action })).toEqual({ action });
      expect(await answered({ action, content: { age: 'none' } })).toEqual({ action });
    },
  );

  test.each<[JsonObject, RegExp]>([
    [{ action: 'accept', content: { name: 7 } }, /"name" must be a string, got 7/],
    [{ action: 'accept', content: { name: 'Ada', age: 17 } }, /"age" must be at least 18, got 17/],
    [{ action: 'accept' }, /"name" is missing/],
    [{ action: 'accept', content: [] }, /"content" must be an object, got an array/],
    [{ action: 'reject' }, /"action" must be one of accept, decline, cancel, got "reject"/],
    [{}, /"action" must be one of .*, got missing/],
  ])('is rejected if it is %j [ELICIT-06] [ELICIT-07]', async (answer, message) => {
    expect(await answered(answer)).toMatchObject({
      code: 'INVALID_RESPONSE',
      message: expect.stringMatching(message) as string,
    });
  });

  test('contains the output of a transforming schema [ELICIT-07]', async () => {
    const schema = z.object({ day: z.iso.date().transform((day) => day.length) });
    const day = outcomeOf('day', (context) => context.elicit({ message: 'When?', schema }));
    const { peer } = await operateWarm({ tools: [day] }, { capabilities: { elicitation: {} } });
    peer.send(toolCall(1, 'day'));
    peer.answer(await peer.request(method), { action: 'accept', content: { day: '2025-11-25' } });
    expect(read((await peer.response(1)).result)).toEqual({
      action: 'accept',
      content: { day: 10 },
    });
  });
});

everywhere('a form that is none', since('2025-06-18', eachRevisionAndHttp), ({ revision }) => {
  test('is a handler error without a request if the form is invalid [ELICIT-04]', async () => {
    const { peer } = await start({ capabilities: { elicitation: {} } });
    const schema = { type: 'object', properties: { nested: { type: 'object' } } };
    const answer = read(await peer.call('any', { schema }));
    expect(answer).toMatchObject({
      name: 'TypeError',
      message: expect.stringContaining('"nested"') as string,
    });
    expect(peer.count(method)).toBe(0);
  });

  test('is CAPABILITY_MISSING if the revision lacks a field type [ELICIT-05]', async () => {
    const { peer } = await start({ capabilities: { elicitation: {} } });
    const schema = {
      type: 'object',
      properties: { tags: { type: 'array', items: { enum: ['a'] } } },
    };
    if (revision >= '2025-11-25') {
      peer.send(toolCall(1, 'any', { schema }));
      const { params } = await peer.request(method);
      expect(params).toHaveProperty('requestedSchema.properties.tags.type', 'array');
      return;
    }
    const answer = read(await peer.call('any', { schema }));
    expect(answer).toMatchObject({
      code: 'CAPABILITY_MISSING',
      message: expect.stringContaining('"tags"') as string,
    });
    expect(peer.count(method)).toBe(0);
  });
});

describe('a URL elicitation', () => {
  test.each(['', '/pay', 'a.example', 'https://user@a.example', 'https://:secret@a.example', 7])(
    'rejects the URL %j [ELICIT-08]',
    async (url) => {
      const { peer } = await start({ capabilities: both });
      const answer = read(await peer.call('open', { url }));
      expect(answer).toMatchObject({ name: 'TypeError' });
      expect(String(answer['message'])).not.toContain('secret');
      expect(peer.count(method)).toBe(0);
    },
  );

  test.each(['decline', 'cancel'])(
    'is never completed after the answer %s [ELICIT-09]',
    async (action) => {
      const { peer } = await start({ capabilities: both });
      peer.send(toolCall(1, 'open'));
      peer.answer(await peer.request(method), { action });
      const { elicitationId } = read((await peer.response(1)).result);
      expect(textOf(await peer.call('completed', { id: elicitationId }))).toBe('false');
      expect(peer.count(complete)).toBe(0);
    },
  );

  test('is never completed after an error of the client [ELICIT-09]', async () => {
    const { peer } = await start({ capabilities: both });
    peer.send(toolCall(1, 'open'));
    const asked = await peer.request(method);
    peer.refuse(asked, { code: -32602, message: 'no' });
    expect(read((await peer.response(1)).result)).toMatchObject({ code: 'REQUEST_FAILED' });
    const id = asked.params?.['elicitationId'];
    expect(textOf(await peer.call('completed', { id }))).toBe('false');
  });

  test('is completed by the server only for the client that received it [ELICIT-09]', async () => {
    const server = createMcpServer({ name: 'shared', version: '1', tools });
    const [one, other] = [connect(server), connect(server)];
    await one.peer.handshake({ capabilities: both });
    await other.peer.handshake({ capabilities: both });
    one.peer.send(toolCall(1, 'open'));
    const { id, params } = await one.peer.request(method);
    const elicitationId = params?.['elicitationId'] as string;
    expect(other.session.elicitationCompleted(elicitationId)).toBe(false);
    expect(server.elicitationCompleted('another')).toBe(false);
    // It may be done before the client has told of the consent.
    expect(server.elicitationCompleted(elicitationId)).toBe(true);
    await one.peer.notification(complete);
    one.peer.answer({ id }, { action: 'accept' });
    await one.peer.response(1);
    expect(server.elicitationCompleted(elicitationId)).toBe(false);
    await other.peer.quiet();
    expect(other.peer.count(complete)).toBe(0);
    await one.session[Symbol.asyncDispose]();
    await other.session[Symbol.asyncDispose]();
  });

  test('is forgotten after 1,024 newer ones [ELICIT-09]', async () => {
    const many = outcomeOf('many', (context) =>
      Array.from({ length: 1025 }, () => {
        const required = context.urlElicitationRequired([
          { message: '', url: 'https://a.example' },
        ]);
        return required.elicitations[0]?.elicitationId;
      }),
    );
    const { peer, session } = await operateWarm({ tools: [many] }, { capabilities: both });
    const ids = JSON.parse(textOf(await peer.call('many'))) as string[];
    expect(new Set(ids).size).toBe(1025);
    const [first, ...rest] = ids;
    expect(session.elicitationCompleted(first as string)).toBe(false);
    expect(rest.every((id) => session.elicitationCompleted(id))).toBe(true);
    await peer.quiet();
    expect(peer.count(complete)).toBe(1024);
  });

  test('must contain at least one URL to be required [ELICIT-10]', async () => {
    const none = outcomeOf('none', (context) => context.urlElicitationRequired([]));
    const { peer } = await operateWarm({ tools: [none] }, { capabilities: both });
    expect(read(await peer.call('none'))).toMatchObject({ name: 'TypeError' });
  });
});

test('ignores an elicitation that its handler never awaited [CANCEL-09]', async () => {
  const forgets = defineTool({
    name: 'forgets',
    description: 'Asks and does not wait',
    handler: (_, context) => {
      void context.elicit({ message: '', schema: contact });
      void context.elicitUrl({ message: '', url: 'https://a.example' });
      void context.sample({ messages: [], maxTokens: 1 });
      void context.request('custom/question', {}, { type: 'object' });
      return 'done';
    },
  });
  const { peer } = await operateWarm(
    { tools: [forgets] },
    { capabilities: { ...both, sampling: {} } },
  );
  expect(textOf(await peer.call('forgets'))).toBe('done');
  await peer.quiet();
});
