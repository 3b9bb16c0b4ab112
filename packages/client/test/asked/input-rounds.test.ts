/** Calls to servers that ask by ending them: before a server of ours of 2026-07-28, and by hand. */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { Answers } from '../../src/asked/answers.ts';
import { DialogPlaces, roundsAfter } from '../../src/asked/input-rounds.ts';
import type { RoundsCall, RoundsHost } from '../../src/asked/input-rounds.ts';
import type { Providers } from '../../src/asked/providers.ts';
import { ProtocolError } from '../../../../src/protocol/errors.ts';
import { defineTool } from '../../../../src/index.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { TestClock, gate, flush } from '../../../testing/src/index.ts';
import { modern } from '../../../../test/server/modern-peer.ts';

type Send = RoundsCall['send'];

/** A host with these providers. */
function hostWith(providers: Providers = {}, bounds = { maxRunning: 16, maxWaiting: 256 }) {
  const clock = new TestClock();
  const heard: string[] = [];
  const answers = new Answers(providers, {
    report: () => {},
    asked: (method) => heard.push(`asked ${method}`),
    withdrawn: (method) => heard.push(`withdrawn ${method}`),
  });
  const awaitTask: RoundsHost['awaitTask'] = (_call, { result, startedAt }) =>
    Promise.resolve({ awaited: result['taskId'], startedAt });
  const host = { clock, answers, places: new DialogPlaces(bounds), maxRounds: 16, awaitTask };
  const call = async (send: Send, more: Partial<RoundsCall> = {}) => {
    const made = { method: 'tools/call', params: { name: 'x' }, maxTotalMs: 1000, send, ...more };
    const { params, signal = new AbortController().signal } = made;
    const startedAt = clock.now();
    const result = await send(params, signal);
    return roundsAfter(host, made, { result, startedAt }) ?? result;
  };
  return { clock, heard, call, answers };
}

/** Gives these results one after the other; keeps what was sent. */
function scripted(...results: readonly JsonObject[]) {
  const sent: (JsonObject | undefined)[] = [];
  const send: Send = (params) => {
    sent.push(params);
    return Promise.resolve(results[Math.min(sent.length, results.length) - 1] as JsonObject);
  };
  return { sent, send };
}

const done = { resultType: 'complete', content: [] };
const form = { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } };
const question = { method: 'elicitation/create', params: form };
const asks = (requestState?: string, keys: readonly string[] = ['a']): JsonObject => ({
  resultType: 'input_required',
  inputRequests: Object.fromEntries(keys.map((key) => [key, question])),
  ...(requestState === undefined ? {} : { requestState }),
});
const shedding = { resultType: 'input_required', requestState: 'later' };
const elicit = () => ({ action: 'accept', content: { confirmed: true } }) as const;
const accepted = { action: 'accept', content: { confirmed: true } };

describe('input_required with our own server', () => {
  test('answers elicitation, sampling and roots in turn', async () => {
    const schema = { type: 'object', properties: { name: { type: 'string' } } } as const;
    const greet = defineTool({
      name: 'greet',
      description: 'Greets whoever it asks.',
      handler: async (_, context) => {
        const who = await context.elicit({ message: 'Who?', schema });
        const { text } = await context.sample({ messages: [], maxTokens: 5 });
        const { roots } = await context.roots();
        return `${text} ${who.action === 'accept' ? who.content.name : ''} of ${roots[0]?.uri}`;
      },
    });
    const { ask } = modern({ tools: [greet] });
    const { call, heard } = hostWith({
      elicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
      sample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello' } }),
      roots: [{ uri: 'file:///a' }],
    });
    const result = await call((params) => ask('tools/call', params ?? {}), {
      params: { name: 'greet', arguments: {} },
    });
    expect(result).toMatchObject({ content: [{ text: 'Hello Ada of file:///a' }] });
    expect(heard).toEqual([
      'asked elicitation/create',
      'asked sampling/createMessage',
      'asked roots/list',
    ]);
  });
});

describe('rounds of a call', () => {
  test('resends the params with the answers and the unchanged state [ANSWER-01]', async () => {
    const state = ' {"odd": "ü\\u0000"}\n';
    const { sent, send } = scripted(asks(state, ['a', '__proto__']), done);
    expect(await hostWith({ elicit }).call(send)).toBe(done);
    expect(sent).toEqual([
      { name: 'x' },
      {
        name: 'x',
        requestState: state,
        inputResponses: JSON.parse(
          `{"a":${JSON.stringify(accepted)},"__proto__":${JSON.stringify(accepted)}}`,
        ) as JsonObject,
      },
    ]);
  });

  test('sends no state unless the last result had one [ANSWER-01]', async () => {
    const { sent, send } = scripted(asks('first'), asks(), done);
    await hostWith({ elicit }).call(send);
    expect(sent[1]).toHaveProperty('requestState', 'first');
    expect(sent[2]).not.toHaveProperty('requestState');
  });

  test('resends with the state alone if the result has no input requests', async () => {
    const { sent, send } = scripted(asks('first'), shedding, done);
    await hostWith({ elicit }).call(send);
    expect(sent[2]).toEqual({ name: 'x', requestState: 'later' });
  });

  test('backs off while the server sheds load', async () => {
    const { sent, send } = scripted(shedding, shedding, shedding, done);
    const { call, clock } = hostWith();
    const result = call(send);
    await flush();
    expect(sent).toHaveLength(2);
    clock.increment(99);
    await flush();
    expect(sent).toHaveLength(2);
    clock.increment(1);
    await flush();
    expect(sent).toHaveLength(3);
    clock.increment(200);
    expect(await result).toBe(done);
    expect(clock.liveTimers).toBe(0);
  });

  test('resets the backoff after an input request, and stops waiting on cancellation', async () => {
    const { sent, send } = scripted(shedding, shedding, asks('x'), shedding, shedding, done);
    const { call, clock } = hostWith({ elicit });
    const controller = new AbortController();
    const outcome = call(send, { signal: controller.signal }).catch((error: unknown) => error);
    await flush();
    expect(sent).toHaveLength(2);
    clock.increment(100);
    await flush();
    expect(sent).toHaveLength(5);
    controller.abort('enough');
    await flush();
    expect(clock.liveTimers).toBe(0);
    expect(await outcome).toMatchObject({ code: 'CANCELLED', cause: 'enough' });
  });

  test('drops inputResponses and requestState given by the caller', async () => {
    const { sent, send } = scripted(asks(), shedding, done);
    const params = { name: 'x', requestState: 'own', inputResponses: { own: accepted } };
    await hostWith({ elicit }).call(send, { params });
    expect(sent.slice(1)).toEqual([
      { name: 'x', inputResponses: { a: accepted } },
      { name: 'x', requestState: 'later' },
    ]);
    expect(sent[1]).not.toHaveProperty('requestState');
  });

  test('ends with a task, whose time counts from the call', async () => {
    const task = { resultType: 'task', taskId: 't' };
    const { call, clock } = hostWith({ elicit });
    clock.increment(50);
    expect(await call(scripted(task).send)).toEqual({ awaited: 't', startedAt: 50 });
    expect(await call(scripted(asks('x'), task).send)).toEqual({ awaited: 't', startedAt: 50 });
    await expect(call(scripted(task).send, { method: 'prompts/get' })).rejects.toMatchObject({
      code: 'PROTOCOL_VIOLATION',
    });
  });

  test('does not start a round for a cancelled call, and reports the cancelled request', async () => {
    const controller = new AbortController();
    const { call, heard } = hostWith({ elicit });
    const { signal } = controller;
    const result = call(
      () => {
        controller.abort('enough');
        return Promise.resolve(asks('x'));
      },
      { signal },
    );
    await expect(result).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
    expect(heard).toEqual([]);
    const ends: unknown[] = [];
    const again = new AbortController();
    const sending = call(
      (_, signal) => {
        if (signal === again.signal) return Promise.resolve(asks('x'));
        again.abort('enough');
        ends.push(signal.reason);
        return Promise.reject(new Error('ended'));
      },
      { signal: again.signal },
    );
    await expect(sending).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(ends).toEqual(['enough']);
  });

  test('keeps concurrent calls apart [ANSWER-02]', async () => {
    const door = gate();
    const { call } = hostWith({
      elicit: async () => {
        await door.pass();
        return elicit();
      },
    });
    const [first, second] = [scripted(asks('of the first'), done), scripted(done)];
    const result = call(first.send);
    await door.arrived();
    await call(second.send, { params: { name: 'y' } });
    door.release();
    await result;
    expect(second.sent).toEqual([{ name: 'y' }]);
    expect(first.sent[1]).toHaveProperty('requestState', 'of the first');
  });

  test('treats a result without resultType as final [ANSWER-03]', async () => {
    const result = { content: [] };
    const { sent, send } = scripted(result);
    expect(await hostWith().call(send)).toBe(result);
    expect(sent).toHaveLength(1);
  });

  test('allows sixteen rounds', async () => {
    const { sent, send } = scripted(asks('again'));
    await expect(hostWith({ elicit }).call(send)).rejects.toMatchObject({
      code: 'PROTOCOL_VIOLATION',
      message: expect.stringContaining('requested input more than 16 times'),
    });
    expect(sent).toHaveLength(17);
  });
});

describe('an invalid input_required result', () => {
  const required = { resultType: 'input_required' };
  test.each([
    [
      { resultType: 'odd' },
      '"resultType" of tools/call must be complete, input_required or task, got "odd"',
    ],
    [required, 'must have "inputRequests" or "requestState"'],
    [{ ...required, requestState: 7 }, '"requestState" must be a string, got 7'],
    [{ ...required, inputRequests: [] }, '"inputRequests" must be an object, got an array'],
    [
      { ...required, inputRequests: { a: { method: 'tools/call' } } },
      'inputRequests["a"] must be a request of roots, sampling or elicitation, got method "tools/call"',
    ],
    [{ ...required, inputRequests: { a: null } }, 'got method missing'],
  ])('fails the call without asking anyone: %o [ANSWER-03]', async (result, fault) => {
    const { call, heard } = hostWith({ elicit });
    await expect(call(scripted(result).send)).rejects.toMatchObject({
      code: 'PROTOCOL_VIOLATION',
      message: expect.stringContaining(fault),
    });
    expect(heard).toEqual([]);
  });

  test('rejects input_required for other methods', async () => {
    const { call, heard } = hostWith({ elicit });
    await expect(call(scripted(asks('x')).send, { method: 'tools/list' })).rejects.toMatchObject({
      code: 'PROTOCOL_VIOLATION',
      message: expect.stringContaining('tools/list must not request input') as string,
    });
    expect(heard).toEqual([]);
  });

  test('rejects more input requests than the queue can hold', async () => {
    const many = Array.from({ length: 273 }, (_, n) => `q${n}`);
    const { call, heard } = hostWith({ elicit });
    await expect(call(scripted(asks('x', many)).send)).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: 'The server sent 273 input requests in one result, at most 272 are allowed',
    });
    expect(heard).toEqual([]);
  });
});

describe('input requests of a call', () => {
  test('limits concurrent requests to the host', async () => {
    const door = gate();
    const listeners: number[] = [];
    const { call } = hostWith(
      {
        elicit: async (_, { signal }) => {
          listeners.push(getEventListeners(signal, 'abort').length);
          await door.pass();
          return elicit();
        },
      },
      { maxRunning: 2, maxWaiting: 8 },
    );
    const { sent, send } = scripted(asks('x', Object.keys('abcdefghij')), done);
    const result = call(send);
    await door.arrived(2);
    await flush();
    expect(door.arrivals).toBe(2);
    door.release();
    await result;
    expect(door.arrivals).toBe(10);
    // Node.js warns its user of more than ten.
    expect(Math.max(...listeners)).toBeLessThan(5);
    expect(Object.keys(sent[1]?.['inputResponses'] as JsonObject)).toHaveLength(10);
  });

  test('fails the call if the queue is full', async () => {
    const door = gate();
    const answering = async () => {
      await door.pass();
      return elicit();
    };
    const { call } = hostWith({ elicit: answering }, { maxRunning: 1, maxWaiting: 1 });
    const [first, second] = [1, 2].map(() => call(scripted(asks('x'), done).send));
    await door.arrived();
    await expect(call(scripted(asks('x'), done).send)).rejects.toThrow(
      'Too many requests from the server: 1 are open and 1 are queued',
    );
    door.release();
    expect(await Promise.all([first, second])).toEqual([done, done]);
  });

  test('fails the call and cancels the other requests after one failure', async () => {
    const door = gate();
    const cause = new ProtocolError(-1, 'User rejected');
    const { call, heard } = hostWith({
      roots: () => Promise.reject(cause),
      elicit: async (_, { signal }) => {
        await door.pass(signal);
        return elicit();
      },
    });
    const result = asks('x');
    const inputRequests = {
      ...(result['inputRequests'] as JsonObject),
      r: { method: 'roots/list' },
    };
    const { sent, send } = scripted({ ...result, inputRequests }, done);
    await expect(call(send)).rejects.toMatchObject({
      code: 'REQUEST_FAILED',
      message: expect.stringContaining('requested roots/list, which the host could not answer'),
      cause: cause,
    });
    expect(heard).toEqual([
      'asked elicitation/create',
      'asked roots/list',
      'withdrawn elicitation/create',
    ]);
    expect(sent).toHaveLength(1);
  });

  test('does not cancel an answered request after another failure', async () => {
    const door = gate();
    const { call, heard } = hostWith({
      roots: [],
      elicit: async () => {
        await door.pass();
        throw new ProtocolError(-1, 'User rejected');
      },
    });
    const inputRequests = { r: { method: 'roots/list' }, a: question };
    const result = call(scripted({ ...asks('x'), inputRequests }).send);
    await door.arrived();
    await flush();
    door.release();
    await expect(result).rejects.toMatchObject({ code: 'REQUEST_FAILED' });
    expect(heard).toEqual(['asked roots/list', 'asked elicitation/create']);
  });

  test('fails the call without a provider', async () => {
    const { call } = hostWith({ roots: [] });
    await expect(call(scripted(asks('x')).send)).rejects.toMatchObject({ code: 'REQUEST_FAILED' });
  });

  test.each(['heeds', 'ignores'] as const)(
    'is withdrawn if the call is cancelled meanwhile, and its host %s the signal',
    async (way) => {
      const door = gate();
      const { call, heard, clock } = hostWith({
        elicit: async (_, { signal }) => {
          await door.pass(way === 'heeds' ? signal : undefined);
          return elicit();
        },
      });
      const controller = new AbortController();
      const { sent, send } = scripted(asks('x'), done);
      const result = call(send, { signal: controller.signal });
      await door.arrived();
      controller.abort('enough');
      await expect(result).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
      expect(heard).toEqual(['asked elicitation/create', 'withdrawn elicitation/create']);
      door.release();
      await flush();
      expect(sent).toHaveLength(1);
      expect(clock.liveTimers).toBe(0);
    },
  );

  test("gets the rest of the call's time", async () => {
    const door = gate();
    const { call, clock } = hostWith({
      elicit: async () => {
        await door.pass();
        return elicit();
      },
    });
    const result = call(scripted(asks('x')).send);
    await door.arrived();
    clock.increment(400);
    door.release(1);
    await door.arrived(2);
    clock.increment(600);
    await expect(result).rejects.toMatchObject({
      code: 'REQUEST_TIMEOUT',
      message: 'tools/call did not complete within 1000 ms, including its input requests',
    });
  });
});
