/** What travels between the rounds of a call: who may bring it back, where, how often, and what a run that starts from it gets. */
import { describe, expect, test } from 'vitest';
import type { RequestHandler } from '../../src/actors/request-context.ts';
import type { JsonObject } from '../../src/protocol/frames.ts';
import { digestOf, stateSealer } from '../../src/rounds/request-state.ts';
import { SuspendableCalls } from '../../src/rounds/suspendable-calls.ts';
import { gate } from '../../packages/testing/src/gate.ts';
import { accepted, form, nameIn, startRounds } from './start-suspendable-calls.ts';
import type { Asking } from './start-suspendable-calls.ts';

const key = 'k'.repeat(43);
const other = '00'.repeat(32);

/** Asks twice, and counts how often it was begun. */
function askingTwice() {
  const begun: number[] = [];
  const handler: RequestHandler = async (_, exchange) => {
    begun.push(begun.length);
    const first = nameIn(await exchange.sendRequest(form('First?')));
    const second = nameIn(await exchange.sendRequest(form('Second?')));
    return { first, second };
  };
  return { begun, handler };
}

describe('a retry without a kept run', () => {
  test('replays the handler with the earlier answers', async () => {
    const { begun, handler } = askingTwice();
    const { ask, retry } = startRounds(handler, { resumption: 'replay' });
    const first = await ask();
    const second = (await retry(first, { q1: accepted('a') }).result) as Asking;
    expect(second.inputRequests).toEqual({
      q2: { method: 'elicitation/create', params: { mode: 'form', message: 'Second?' } },
    });
    const result = await retry(second, { q2: accepted('b') }).result;
    expect(result).toEqual({ first: 'a', second: 'b' });
    expect(begun).toHaveLength(3);
  });

  test('resumes in another process with the same key [ROUNDS-09]', async () => {
    const { handler } = askingTwice();
    const one = startRounds(handler, { sealer: stateSealer('server', [key, other]) });
    const another = startRounds(handler, { sealer: stateSealer('server', [other, key]) });
    const first = await one.ask();
    const second = (await another.retry(first, { q1: accepted('a') }).result) as Asking;
    // And back: the first process still keeps the run, at an earlier round.
    expect(await one.retry(second, { q2: accepted('b') }).result).toEqual({
      first: 'a',
      second: 'b',
    });
    expect(one.rounds.waiting).toEqual([]);
  });

  test('is rejected by a server of another name with the same key', async () => {
    const { handler } = askingTwice();
    const one = startRounds(handler, { sealer: stateSealer('one', [key]) });
    const another = startRounds(handler, { sealer: stateSealer('another', [key]) });
    const asking = await one.ask();
    const refused = another.retry(asking, { q1: accepted('a') }).result;
    await expect(refused).rejects.toMatchObject({ code: -32602 });
    expect(another.facts.map(({ message }) => message)).toEqual([
      'A request state was refused: it was not sealed by this server',
    ]);
  });

  test('assigns answers of concurrent questions regardless of their order in the replay', async () => {
    let runs = 0;
    const { ask, retry } = startRounds(
      async (_, exchange) => {
        const questions = ['A?', 'B?'];
        if (runs++ > 0) questions.reverse();
        const answers = await Promise.all(
          questions.map((each) => exchange.sendRequest(form(each))),
        );
        return Object.fromEntries(answers.map((answer, at) => [questions[at], nameIn(answer)]));
      },
      { resumption: 'replay' },
    );
    const asking = await ask();
    const again = (await retry(asking, { q2: accepted('b') }).result) as Asking;
    expect(Object.keys(again.inputRequests)).toEqual(['q1']);
    expect(await retry(again, { q1: accepted('a') }).result).toEqual({ 'A?': 'a', 'B?': 'b' });
  });

  test('does not repeat context.once', async () => {
    const made: string[] = [];
    const { ask, retry } = startRounds(
      async (_, exchange) => {
        const order = await exchange.once('order', () => {
          made.push('order');
          return { id: made.length, at: new Date(0) };
        });
        const name = nameIn(await exchange.sendRequest(form('Name?')));
        return { order, name };
      },
      { resumption: 'replay' },
    );
    const result = await retry(await ask(), { q1: accepted('Ada') }).result;
    expect(result).toEqual({ order: { id: 1, at: '1970-01-01T00:00:00.000Z' }, name: 'Ada' });
    expect(made).toEqual(['order']);
  });

  test('fails naming the first question that differs from the earlier run', async () => {
    let runs = 0;
    const { ask, retry } = startRounds(
      async (_, exchange) => ({ name: nameIn(await exchange.sendRequest(form(`Run ${++runs}?`))) }),
      { resumption: 'replay' },
    );
    const failed = retry(await ask(), { q1: accepted('Ada') }).result;
    await expect(failed).rejects.toMatchObject({ code: 'REPLAY_DIVERGED' });
    await expect(failed).rejects.toThrow(
      'it previously requested elicitation/create "Run 1?" (q1), and now requests elicitation/create "Run 2?"',
    );
  });

  test('rejects a malformed answer', async () => {
    const { handler } = askingTwice();
    const { ask, retry } = startRounds(handler, { resumption: 'replay' });
    const asking = await ask();
    const refused = retry(asking, { q1: accepted('') }).result;
    await expect(refused).rejects.toThrow('"inputResponses.q1" must have a name');
    await expect(refused).rejects.toMatchObject({ code: -32602 });
    const second = (await retry(asking, { q1: accepted('a') }).result) as Asking;
    expect(second.resultType).toBe('input_required');
  });

  test('tells the client to call again if the tool forbids replay', async () => {
    const { begun, handler } = askingTwice();
    const once = Object.assign(handler, { resumption: () => ({ replay: false }) });
    const { ask, retry } = startRounds(once, { resumption: 'replay' });
    const refused = await retry(await ask(), { q1: accepted('a') }).result;
    expect(refused).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^NOT_RESUMABLE: .*Call the tool again/) }],
    });
    expect(begun).toHaveLength(1);
  });
});

describe('a repeated request state', () => {
  test('runs the work once and returns the same result [ROUNDS-07]', async () => {
    const work = gate();
    let worked = 0;
    const { ask, retry } = startRounds(async (_, exchange) => {
      const name = nameIn(await exchange.sendRequest(form('Name?')));
      await work.pass();
      return { name, worked: ++worked };
    });
    const asking = await ask();
    const first = retry(asking, { q1: accepted('Ada') });
    await work.arrived();
    const second = retry(asking, { q1: accepted('Eve') });
    work.release();
    expect(await Promise.all([first.result, second.result])).toEqual([
      { name: 'Ada', worked: 1 },
      { name: 'Ada', worked: 1 },
    ]);
    expect(await retry(asking, { q1: accepted('Late') }).result).toEqual({
      name: 'Ada',
      worked: 1,
    });
  });

  test('runs the work once even if the run was not kept', async () => {
    const { begun, handler } = askingTwice();
    const { ask, retry, options } = startRounds(handler);
    const asking = await ask();
    const elsewhere = new SuspendableCalls(options);
    const how = { to: elsewhere };
    const both = [1, 2].map((n) => retry(asking, { q1: accepted(`${n}`) }, {}, how).result);
    const [one, two] = (await Promise.all(both)) as [Asking, Asking];
    expect(two).toEqual(one);
    expect(begun).toHaveLength(2);
  });

  test('runs the work once for concurrent retries', async () => {
    const { begun, handler } = askingTwice();
    const { ask, retry } = startRounds(handler);
    const asking = await ask();
    const both = ['a', 'b'].map((name) => retry(asking, { q1: accepted(name) }).result);
    const [one, two] = (await Promise.all(both)) as [Asking, Asking];
    expect(two).toEqual(one);
    expect(begun).toHaveLength(1);
  });

  test('is rejected for a singleUse tool, even by another process [ROUNDS-07]', async () => {
    const { handler } = askingTwice();
    const single = Object.assign(handler, { resumption: () => ({ singleUse: true }) });
    const { ask, retry, options } = startRounds(single);
    const asking = await ask();
    const elsewhere = retry(
      asking,
      { q1: accepted('a') },
      {},
      { to: new SuspendableCalls(options) },
    );
    await expect(elsewhere.result).rejects.toMatchObject({ code: -32602 });
    const second = (await retry(asking, { q1: accepted('a') }).result) as Asking;
    await expect(retry(asking, { q1: accepted('a') }).result).rejects.toMatchObject({
      code: -32602,
    });
    expect(await retry(second, { q2: accepted('b') }).result).toMatchObject({ first: 'a' });
  });

  test('is rejected if its round has been answered', async () => {
    const { handler } = askingTwice();
    const { ask, retry } = startRounds(handler);
    const first = await ask();
    const second = (await retry(first, { q1: accepted('a') }).result) as Asking;
    await retry(second, { q2: accepted('b') }).result;
    await expect(retry(first, { q1: accepted('a') }).result).rejects.toMatchObject({
      code: -32602,
    });
  });
});

describe('an invalid request state', () => {
  /** What the request of a refused state is answered with, and the reason that is noted. */
  async function refusal(
    tamper: (setting: {
      readonly started: ReturnType<typeof startRounds>;
      readonly asking: Asking;
    }) => Promise<JsonObject>,
  ) {
    const started = startRounds(askingTwice().handler);
    const asking = await started.ask({ arguments: { seat: 1 } }, { principal: 'ada' });
    const error = await tamper({ started, asking }).then(
      () => 'accepted',
      (caught: unknown) => caught as { code: number; message: string },
    );
    const noted = started.facts.find(({ name }) => name === 'state.refused');
    return { error, noted: noted?.message };
  }

  const same = { arguments: { seat: 1 } };
  const ada = { principal: 'ada' };
  const answers = { q1: accepted('a') };
  const flip = (text: string, at: number) =>
    `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;

  test.each([
    [
      'forged',
      'not sealed by',
      ({ started }) =>
        started.retry({ requestState: 'eyJhbGciOiJkaXIifQ..a.b.c' }, answers, same, ada).result,
    ],
    [
      'empty',
      'not sealed by',
      ({ started }) => started.retry({ requestState: '' }, answers, same, ada).result,
    ],
    [
      'altered',
      'not sealed by',
      ({ started, asking }) =>
        started.retry({ requestState: flip(asking.requestState, 100) }, answers, same, ada).result,
    ],
    [
      'truncated',
      'not sealed by',
      ({ started, asking }) =>
        started.retry({ requestState: asking.requestState.slice(0, -4) }, answers, same, ada)
          .result,
    ],
    [
      'of another server',
      'not sealed by',
      async ({ started }) => {
        const foreign = await startRounds(askingTwice().handler).ask(same, ada);
        return await started.retry(foreign, answers, same, ada).result;
      },
    ],
    [
      'of a megabyte',
      'too long',
      ({ started }) =>
        started.retry({ requestState: 'a'.repeat(1 << 20) }, answers, same, ada).result,
    ],
    [
      'expired',
      'expired',
      ({ started, asking }) => {
        started.clock.increment(600_001);
        return started.retry(asking, answers, same, ada).result;
      },
    ],
    [
      'of another principal',
      'another principal',
      ({ started, asking }) => started.retry(asking, answers, same, { principal: 'eve' }).result,
    ],
    [
      'of a principal, without one',
      'another principal',
      ({ started, asking }) => started.retry(asking, answers, same).result,
    ],
    [
      'of other arguments',
      'another request',
      ({ started, asking }) =>
        started.retry(asking, answers, { arguments: { seat: 2 } }, ada).result,
    ],
    [
      'of another tool',
      'another request',
      ({ started, asking }) =>
        started.retry(asking, answers, { ...same, name: 'other' }, ada).result,
    ],
    [
      'of another method',
      'another request',
      ({ started, asking }) =>
        started.retry(asking, answers, same, { ...ada, method: 'prompts/get' }).result,
    ],
  ] as const satisfies readonly (readonly [string, string, Parameters<typeof refusal>[0]])[])(
    'is rejected without details if it is %s [ROUNDS-05] [ROUNDS-06]',
    async (_, why, tamper) => {
      const { error, noted } = await refusal(tamper);
      expect(error).toMatchObject({
        code: -32602,
        message:
          'Invalid params: "requestState" is invalid or has expired; send the request again without it',
      });
      expect(noted).toContain(why);
    },
  );

  test('is rejected for a call that never asks', async () => {
    const { retry } = startRounds(() => ({ text: 'never asks' }));
    const forged = retry({ requestState: 'x' }).result;
    await expect(forged).rejects.toMatchObject({ code: -32602 });
  });

  test.each([7, null, {}, ['x']])(
    'is rejected if it is not a string: %j [ROUNDS-05]',
    async (requestState) => {
      const { send } = startRounds(() => ({}));
      await expect(send({ requestState }).result).rejects.toThrow(
        '"requestState" must be a string',
      );
    },
  );

  test.each([7, null, 'x', ['x']])(
    'is rejected with answers that are not an object: %j [ROUNDS-10]',
    async (given) => {
      const { send } = startRounds(() => ({}));
      const refused = send({ requestState: 'x', inputResponses: given }).result;
      await expect(refused).rejects.toThrow('"inputResponses" must be an object');
    },
  );
});

describe('the request state', () => {
  test('is independent of the order of keys', async () => {
    const { ask, retry } = startRounds(askingTwice().handler);
    const asking = await ask({ arguments: { a: 1, b: { c: 2, d: 3 } } });
    const reordered = { arguments: { b: { d: 3, c: 2 }, a: 1 } };
    const second = await retry(asking, { q1: accepted('a') }, reordered).result;
    expect(second['resultType']).toBe('input_required');
    const parsed = (text: string): unknown => JSON.parse(text);
    expect(await digestOf(parsed('{"__proto__":1,"a":2}'))).toBe(
      await digestOf(parsed('{"a":2,"__proto__":1}')),
    );
    expect(await digestOf(parsed('{"__proto__":1}'))).not.toBe(await digestOf({}));
  });

  test('does not reveal its contents', async () => {
    const { ask } = startRounds(askingTwice().handler);
    const { requestState } = await ask({ arguments: { secret: 'hunter2' } });
    const [header] = requestState.split('.') as [string];
    expect(JSON.parse(atob(header))).toEqual({ alg: 'dir', enc: 'A256GCM' });
    expect(atob(requestState.split('.')[3]!.replace(/-/g, '+').replace(/_/g, '/'))).not.toContain(
      'First?',
    );
  });

  test('has a maximum length, beyond which the call fails', async () => {
    const { ask, retry } = startRounds(askingTwice().handler, {
      limits: { maxRequestStateBytes: 2000 },
    });
    const failed = retry(await ask(), { q1: accepted('x'.repeat(3000)) }).result;
    await expect(failed).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
  });

  test('has a maximum round, beyond which the call fails', async () => {
    const { ask, retry } = startRounds(
      async (_, exchange) => {
        for (let n = 0; n < 1000; n++) await exchange.sendRequest(form(`Question ${n}`));
        return {};
      },
      { limits: { maxRounds: 20 } },
    );
    let asking = await ask();
    for (let n = 1; n < 20; n++) {
      asking = (await retry(asking, { [`q${n}`]: accepted('a') }).result) as Asking;
    }
    const failed = retry(asking, { q20: accepted('a') }).result;
    await expect(failed).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
  });

  test.each(['short', 'zz'.repeat(32), '!'])('requires a key of 32 bytes, not %j', (bad) => {
    expect(() => stateSealer('server', [key, bad])).toThrow(/^Key 2 .* must be 32 bytes/);
  });
});
