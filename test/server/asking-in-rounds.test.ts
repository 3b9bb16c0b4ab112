/** Handlers that ask, served to clients of 2026-07-28: over a session's own connection, from its wire. */
import { describe, expect, test } from 'vitest';
import { definePrompt, defineResource, defineTool } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/frames.ts';
import { cancelled } from '../../packages/testing/src/index.ts';
import { everything, modern } from './modern-peer.ts';

const name = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
} as const;
const accept = (content: JsonObject): JsonObject => ({ action: 'accept', content });
const call = (tool: string, more: JsonObject = {}): [string, JsonObject] => [
  'tools/call',
  { name: tool, arguments: {}, ...more },
];
const textOf = (result: JsonObject) => (result['content'] as { text: string }[])[0]?.text;

const greet = defineTool({
  name: 'greet',
  description: 'Greets whoever it asks.',
  handler: async (_, context) => {
    const answer = await context.elicit({ message: 'Who are you?', schema: name });
    return answer.action === 'accept' ? `Hello ${answer.content.name}` : answer.action;
  },
});

describe('a suspendable tool call', () => {
  test('ends the call with a form and answers the retry with the result', async () => {
    const { ask, session, peer } = modern({ tools: [greet] });
    const asking = await ask(...call('greet'));
    expect(asking).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        q1: {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: 'Who are you?',
            requestedSchema: { required: ['name'] },
          },
        },
      },
    });
    expect(asking).not.toHaveProperty('ttlMs');
    expect(session.dump().calls).toMatchObject([
      { method: 'tools/call', subject: 'greet', state: 'suspended', openQuestions: 1 },
    ]);
    const { requestState } = asking;
    const inputResponses = { q1: accept({ name: 'Ada' }) };
    const result = await ask(...call('greet', { requestState, inputResponses }));
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'Hello Ada' }] });
    expect(session.dump().calls).toEqual([]);
    // Never a request of ours on the wire.
    expect(peer.count('elicitation/create')).toBe(0);
  });

  test('answers form content that violates its schema with -32602 and the reason [ROUNDS-10] [ELICIT-13]', async () => {
    const { ask } = modern({ tools: [greet] });
    const { requestState } = await ask(...call('greet'));
    const inputResponses = { q1: accept({ name: 7 }) };
    const error = await ask(...call('greet', { requestState, inputResponses }));
    expect(error).toMatchObject({ code: -32602 });
    expect(error['message']).toMatch(/"inputResponses.q1".*name/);
  });

  test('fails the call with -32021 instead of asking for an undeclared capability [ELICIT-11] [SAMPLE-08]', async () => {
    const { ask, session } = modern({ tools: [greet] });
    const error = await ask(...call('greet'), { sampling: {} });
    expect(error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: {} } },
    });
    expect(session.dump().calls).toEqual([]);
  });

  test('sends concurrent form, URL, sampling and roots requests in one round [ROUNDS-04] [ELICIT-12]', async () => {
    const tool = defineTool({
      name: 'everything',
      description: 'Asks everything.',
      handler: async (_, context) => {
        const [form, url, sample, roots] = await Promise.all([
          context.elicit({ message: 'Who?', schema: name }),
          context.elicitUrl({ message: 'Sign in', url: (id) => `https://example.com/${id}` }),
          context.sample({ messages: [{ role: 'user', content: 'Hi' }], maxTokens: 9 }),
          context.roots(),
        ]);
        return JSON.stringify([form.action, url.action, sample.model, roots.roots.length]);
      },
    });
    for (const resume of ['keep', 'replay'] as const) {
      const { ask } = modern({ tools: [tool] }, { resume });
      const asking = await ask(...call('everything'));
      const requests = asking['inputRequests'] as { [key: string]: JsonObject };
      const methods = Object.values(requests).map(({ method }) => method);
      expect(methods).toHaveLength(4);
      expect(new Set(methods)).toEqual(
        new Set(['elicitation/create', 'roots/list', 'sampling/createMessage']),
      );
      const inputResponses = Object.fromEntries(
        Object.entries(requests).map(([key, { method, params }]) => [
          key,
          method === 'roots/list'
            ? { roots: [{ uri: 'file:///a' }] }
            : method === 'sampling/createMessage'
              ? { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hi' } }
              : (params as JsonObject)['mode'] === 'url'
                ? { action: 'accept' }
                : accept({ name: 'Ada' }),
        ]),
      );
      const { requestState } = asking;
      const result = await ask(...call('everything', { requestState, inputResponses }));
      expect(textOf(result)).toBe('["accept","accept","m",1]');
    }
  });

  test('resumes in another process with the same state key [ROUNDS-09]', async () => {
    const stateKeys = ['00'.repeat(32)];
    const [one, another] = [0, 1].map(() => modern({ tools: [greet], stateKeys }));
    const { requestState } = await one!.ask(...call('greet'));
    const inputResponses = { q1: accept({ name: 'Ada' }) };
    const result = await another!.ask(...call('greet', { requestState, inputResponses }));
    expect(textOf(result)).toBe('Hello Ada');
  });

  test('reports progress with the token of the open request [PROGRESS-08]', async () => {
    const tool = defineTool({
      name: 'steps',
      description: 'Asks between two steps.',
      handler: async (_, context) => {
        context.progress(1, { total: 2 });
        await context.elicit({ message: 'Go on?', schema: name });
        context.progress(2, { total: 2 });
        return 'done';
      },
    });
    const { ask, peer } = modern({ tools: [tool] });
    const { requestState } = await ask(...call('steps'), everything, { progressToken: 'first' });
    const inputResponses = { q1: accept({ name: 'Ada' }) };
    const again = call('steps', { requestState, inputResponses });
    await ask(...again, everything, { progressToken: 'second' });
    expect((await peer.notification('notifications/progress')).params).toMatchObject({
      progressToken: 'first',
      progress: 1,
    });
    expect((await peer.notification('notifications/progress')).params).toMatchObject({
      progressToken: 'second',
      progress: 2,
    });
  });

  test('runs the finally block of a suspended handler before its session closes', async () => {
    const ended: string[] = [];
    const tool = defineTool({
      name: 'waits',
      description: 'Waits.',
      handler: async (_, context) => {
        try {
          await context.elicit({ message: 'Who?', schema: name });
        } finally {
          await Promise.resolve();
          ended.push('finally');
        }
        return 'done';
      },
    });
    const { ask, session, peer } = modern({ tools: [tool] });
    await ask(...call('waits'));
    peer.end();
    await session.closed;
    expect(ended).toEqual(['finally']);
  });

  test('aborts the signal of the handler with the reason when the open request is cancelled', async () => {
    const reasons: unknown[] = [];
    const tool = defineTool({
      name: 'waits',
      description: 'Waits.',
      handler: async (_, { signal, progress }) => {
        progress(1);
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
        });
        reasons.push(signal.reason);
        return 'nobody hears it';
      },
    });
    const { send, peer } = modern({ tools: [tool] });
    const id = send(...call('waits'), everything, { progressToken: 't' });
    await peer.notification('notifications/progress');
    peer.send(cancelled(id, 'enough'));
    await peer.quiet();
    expect(reasons.map(String)).toEqual([expect.stringContaining('enough')]);
  });

  test('tells the model to call again if the tool forbids replay', async () => {
    const once = { ...greet, name: 'once', replay: false };
    const { ask } = modern({ tools: [once] }, { resume: 'replay' });
    const { requestState } = await ask(...call('once'));
    const inputResponses = { q1: accept({ name: 'Ada' }) };
    const result = await ask(...call('once', { requestState, inputResponses }));
    expect(result).toMatchObject({ isError: true });
    expect(textOf(result)).toContain('NOT_RESUMABLE');
  });
});

test('lets prompts and resources ask their client, but not lists [ROUNDS-03]', async () => {
  const { ask } = modern({
    prompts: [
      definePrompt({
        name: 'greeting',
        get: async (_, context) => {
          const answer = await context.elicit({ message: 'Who?', schema: name });
          return answer.action === 'accept' ? answer.content.name : 'nobody';
        },
      }),
    ],
    resources: [
      defineResource({
        uri: 'test://name',
        name: 'name',
        read: async (context) => {
          const answer = await context.elicit({ message: 'Who?', schema: name });
          return answer.action === 'accept' ? answer.content.name : 'nobody';
        },
      }),
    ],
  });
  const inputResponses = { q1: accept({ name: 'Ada' }) };
  for (const [method, params] of [
    ['prompts/get', { name: 'greeting' }],
    ['resources/read', { uri: 'test://name' }],
  ] as const) {
    const { requestState } = await ask(method, params);
    const result = await ask(method, { ...params, requestState, inputResponses });
    expect(JSON.stringify(result)).toContain('Ada');
    expect(result['resultType']).toBe('complete');
  }
});

describe('the end of a suspendable call', () => {
  test('ignores a roots request that the handler never awaited', async () => {
    const tool = defineTool({
      name: 'forgetful',
      description: 'Asks for the roots and forgets them.',
      handler: async (_, context) => {
        void context.roots();
        await context.elicit({ message: 'Who?', schema: name });
        return '';
      },
    });
    const { ask, session } = modern({ tools: [tool] });
    expect(await ask(...call('forgetful'))).toMatchObject({ resultType: 'input_required' });
    // A rejection that nobody handles would fail the run of the tests.
    session.shutdown('the test is over');
    await session.closed;
    expect(session.dump().calls).toEqual([]);
  });
});

const orders = { placed: 0, place: () => ({ id: ++orders.placed }) };

// #region once
const order = defineTool({
  name: 'order',
  description: 'Places an order, which the user may withdraw at once.',
  handler: async (_args, context) => {
    const { id } = await context.once('order', () => orders.place());
    const { action } = await context.elicit({
      message: `Keep order ${id}?`,
      schema: { type: 'object', properties: { note: { type: 'string' } } },
    });
    return action === 'accept' ? `Order ${id} is kept` : `Order ${id} is withdrawn`;
  },
});
// #endregion

test.each(['keep', 'replay'] as const)(
  'runs context.once a single time when resumed by %s',
  async (resume) => {
    orders.placed = 0;
    const { ask } = modern({ tools: [order] }, { resume });
    const { requestState } = await ask(...call('order'));
    const inputResponses = { q1: accept({}) };
    const result = await ask(...call('order', { requestState, inputResponses }));
    expect([textOf(result), orders.placed]).toEqual(['Order 1 is kept', 1]);
  },
);
