/** Calls that go on in rounds: one run that is suspended and resumed, and what becomes of every retry. */
import { describe, expect, test } from 'vitest';
import type { RequestHandler } from '../../src/actors/request-context.ts';
import { ProtocolError } from '../../src/protocol/errors.ts';
import { gate } from '../../packages/testing/src/gate.ts';
import { accepted, form, nameIn, startRounds } from './start-suspendable-calls.ts';
import type { Asking } from './start-suspendable-calls.ts';

describe('a handler that needs input', () => {
  test('ends its request with the question and continues with the answer', async () => {
    const begun: string[] = [];
    const { ask, retry } = startRounds(async (_, exchange) => {
      begun.push('run');
      const name = nameIn(await exchange.sendRequest(form('Your name?')));
      return { text: `Hello ${name}` };
    });
    const asking = await ask();
    expect(asking).toEqual({
      resultType: 'input_required',
      inputRequests: {
        q1: { method: 'elicitation/create', params: { mode: 'form', message: 'Your name?' } },
      },
      requestState: expect.any(String),
    });
    expect(await retry(asking, { q1: accepted('Ada') }).result).toEqual({ text: 'Hello Ada' });
    expect(begun).toEqual(['run']);
  });

  test('can name its questions, and duplicate keys get a suffix', async () => {
    const { ask, retry } = startRounds(async (_, exchange) => {
      const answers = await Promise.all([
        exchange.sendRequest({ ...form('One?'), key: 'name' }),
        exchange.sendRequest({ ...form('Two?'), key: 'name' }),
        exchange.sendRequest({ ...form('Three?'), key: 'q4' }),
        exchange.sendRequest(form('Four?')),
      ]);
      return { names: answers.map(nameIn) };
    });
    const asking = await ask();
    const keys = ['name', 'name-2', 'q4', 'q5'];
    expect(Object.keys(asking.inputRequests)).toEqual(keys);
    const answers = Object.fromEntries(keys.map((key) => [key, accepted(key)]));
    expect(await retry(asking, answers).result).toEqual({ names: keys });
  });

  test('sends sequential questions in separate rounds', async () => {
    const { ask, retry } = startRounds(async (_, exchange) => {
      const first = nameIn(await exchange.sendRequest(form('First?')));
      const second = nameIn(await exchange.sendRequest(form('Second?')));
      return { first, second };
    });
    const first = await ask();
    const second = (await retry(first, { q1: accepted('a') }).result) as Asking;
    expect(Object.keys(second.inputRequests)).toEqual(['q2']);
    expect(await retry(second, { q2: accepted('b') }).result).toEqual({ first: 'a', second: 'b' });
  });

  test('sends concurrent questions in one round and repeats unanswered ones [ROUNDS-04]', async () => {
    const { ask, retry } = startRounds(async (_, exchange) => {
      const names = await Promise.all(
        ['A?', 'B?', 'C?'].map((each) => exchange.sendRequest(form(each))),
      );
      return { names: names.map(nameIn) };
    });
    const asking = await ask();
    expect(Object.keys(asking.inputRequests)).toEqual(['q1', 'q2', 'q3']);
    const again = (await retry(asking, { q3: accepted('c'), q1: accepted('a'), other: 7 })
      .result) as Asking;
    expect(Object.keys(again.inputRequests)).toEqual(['q2']);
    const result = await retry(again, { q2: accepted('b'), q1: accepted('not again') }).result;
    expect(result).toEqual({ names: ['a', 'b', 'c'] });
  });

  test('answers a malformed answer with an error naming it instead of asking again [ROUNDS-10]', async () => {
    const { ask, retry } = startRounds(async (_, exchange) => ({
      name: nameIn(await exchange.sendRequest(form('Name?'))),
    }));
    const asking = await ask();
    for (const [answer, fault] of [
      [7, /"inputResponses.q1" must be an object, got 7/],
      [{ action: 'maybe' }, /"inputResponses.q1" must have "action"/],
      [{ action: 'accept', content: [] }, /"inputResponses.q1".*"content"/],
      [accepted(''), /"inputResponses.q1" must have a name/],
    ] as const) {
      const refused = retry(asking, { q1: answer }).result;
      await expect(refused).rejects.toMatchObject({ code: -32602 });
      await expect(refused).rejects.toThrow(fault);
    }
    expect(await retry(asking, { q1: accepted('Ada') }).result).toEqual({ name: 'Ada' });
  });

  test('sends progress and logs on the open request, and none while suspended', async () => {
    const work = gate();
    const { send, retry } = startRounds(async (_, exchange) => {
      exchange.notify('said', { at: 'first' });
      const asked = exchange.sendRequest(form('Name?'));
      await work.pass();
      exchange.notify('said', { at: 'suspended' });
      await asked;
      exchange.notify('said', { at: 'second' });
      return {};
    });
    const first = send();
    const asking = (await first.result) as Asking;
    work.release();
    await Promise.resolve();
    const second = retry(asking, { q1: accepted('Ada') });
    await second.result;
    expect([first.said, second.said]).toEqual([
      [{ method: 'said', at: 'first' }],
      [{ method: 'said', at: 'second' }],
    ]);
  });

  test('can end while suspended, and the retry gets its outcome', async () => {
    const work = gate();
    const { ask, retry } = startRounds(async (_, exchange) => {
      await Promise.race([exchange.sendRequest(form('Name?')), work.pass()]);
      return { by: 'itself' };
    });
    const asking = await ask();
    work.release();
    expect(await retry(asking).result).toEqual({ by: 'itself' });
  });

  test('requests roots once, and only from a client that declares them [ROOTS-23]', async () => {
    const handler: RequestHandler = async (_, exchange) => {
      const [one, two] = [await exchange.roots(never), await exchange.roots(never)];
      return { status: one.status, uris: two.roots.map(({ uri }) => uri) };
    };
    const { ask, retry, send } = startRounds(handler);
    const asking = await ask();
    expect(asking.inputRequests).toEqual({ q1: { method: 'roots/list' } });
    const answer = { roots: [{ uri: 'file:///a' }] };
    expect(await retry(asking, { q1: answer }).result).toEqual({
      status: 'known',
      uris: ['file:///a'],
    });
    const without = await send({}, { capabilities: {} }).result;
    expect(without).toEqual({ status: 'undeclared', uris: [] });
  });
});

const never = { timeoutMs: 1, clock: undefined as never };

describe('the end of a suspended run', () => {
  /** A handler that notes how it ended. */
  function noting() {
    const ended: string[] = [];
    const handler: RequestHandler = async (_, exchange) => {
      const { signal } = exchange;
      try {
        return { name: nameIn(await exchange.sendRequest(form('Name?'))) };
      } catch (error) {
        ended.push((error as { code: string }).code);
        throw error;
      } finally {
        ended.push(signal.aborted ? 'aborted' : 'not aborted');
      }
    };
    return { ended, handler };
  }

  test('follows its expiry like a cancellation [ROUNDS-08]', async () => {
    const { ended, handler } = noting();
    const { ask, rounds, clock, facts } = startRounds(handler);
    await ask();
    expect(rounds.isIdle).toBe(false);
    clock.increment(600_000);
    await settle();
    expect(ended).toEqual(['CANCELLED', 'aborted']);
    expect(rounds.isIdle).toBe(true);
    expect(clock.liveTimers).toBe(0);
    expect(facts).toContainEqual(expect.objectContaining({ name: 'call.expired' }));
  });

  test('affects the oldest run when too many are suspended [ROUNDS-08]', async () => {
    const { ended, handler } = noting();
    const { ask, retry, rounds } = startRounds(handler, { limits: { maxSuspendedCalls: 2 } });
    const first = await ask({ arguments: { n: 1 } });
    for (const n of [2, 3]) await ask({ arguments: { n } });
    await settle();
    expect(rounds.waiting).toHaveLength(2);
    expect(ended).toEqual(['CANCELLED', 'aborted']);
    // It is run again.
    const result = retry(first, { q1: accepted('Ada') }, { arguments: { n: 1 } }).result;
    expect(await result).toEqual({ name: 'Ada' });
  });

  test('follows the cancellation of its open request', async () => {
    const { ended, handler } = noting();
    const work = gate();
    const { ask, retry, rounds } = startRounds(async (params, exchange) => {
      await handler(params, exchange);
      await work.pass(exchange.signal);
      return {};
    });
    const asking = await ask();
    const second = retry(asking, { q1: accepted('Ada') });
    await work.arrived();
    second.cancel();
    await expect(second.result).rejects.toThrow('The client cancelled');
    expect(rounds.isIdle).toBe(true);
    expect(ended).toEqual(['not aborted']);
    await expect(retry(asking, { q1: accepted('Ada') }).result).rejects.toThrow(
      'is invalid or has expired',
    );
  });

  test('affects all suspended runs when the connection ends', async () => {
    const { ended, handler } = noting();
    const { ask, rounds, clock } = startRounds(handler);
    await ask({ arguments: { n: 1 } });
    await ask({ arguments: { n: 2 } });
    rounds.close(new Error('The session has ended'));
    await settle();
    expect(ended).toEqual(['CANCELLED', 'aborted', 'CANCELLED', 'aborted']);
    expect([rounds.isIdle, clock.liveTimers]).toEqual([true, 0]);
  });
});

describe('a handler that throws UrlElicitationRequired', () => {
  const demand = (url: string) =>
    new ProtocolError(-32042, 'Sign in first', {
      elicitations: [{ mode: 'url', url, message: 'Sign in', elicitationId: 'e' }],
    });

  test.each(['throws', 'rejects'])(
    'sends the URLs if it %s, and is replayed afterwards',
    async (how) => {
      let isSignedIn = false;
      const { ask, retry } = startRounds((_, exchange) => {
        if (isSignedIn) return { method: exchange.request.method };
        const error = demand('https://example.com/sign-in');
        if (how === 'throws') throw error;
        return Promise.reject(error);
      });
      const asking = await ask();
      expect(asking.inputRequests).toEqual({
        q1: {
          method: 'elicitation/create',
          params: { mode: 'url', message: 'Sign in', url: 'https://example.com/sign-in' },
        },
      });
      const again = (await retry(asking, { q1: { action: 'accept' } }).result) as Asking;
      expect(again.resultType).toBe('input_required');
      isSignedIn = true;
      const result = await retry(again, { q2: { action: 'accept' } }).result;
      expect(result).toEqual({ method: 'tools/call' });
    },
  );

  test('fails if the user does not open the URLs', async () => {
    const { ask, retry, rounds } = startRounds(() => {
      throw demand('https://example.com/sign-in');
    });
    const declined = retry(await ask(), { q1: { action: 'decline' } }).result;
    await expect(declined).rejects.toMatchObject({ code: 'REQUEST_FAILED' });
    expect(rounds.isIdle).toBe(true);
  });
});

/** Everything that promises have set off by now. */
const settle = () => new Promise((resolve) => setImmediate(resolve));
