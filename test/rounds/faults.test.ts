/** Rounds under bad weather: runs that end at an awkward time, and clients that do not come back. */
import { describe, expect, test } from 'vitest';
import type { RequestHandler } from '../../src/actors/request-context.ts';
import { ProtocolError } from '../../src/protocol/errors.ts';
import type { StateSealer } from '../../src/rounds/request-state.ts';
import { stateSealer } from '../../src/rounds/request-state.ts';
import { gate } from '../../packages/testing/src/gate.ts';
import { flush } from '../../packages/testing/src/clock.ts';
import { accepted, form, nameIn, startRounds } from './start-suspendable-calls.ts';
import type { Asking } from './start-suspendable-calls.ts';

const demand = () =>
  new ProtocolError(-32042, 'Sign in first', {
    elicitations: [{ mode: 'url', url: 'https://example.com/', message: 'Sign in' }],
  });

/** Seals once it is let. */
function slowSealer() {
  const sealer = stateSealer('server');
  const sealing = gate();
  const slow: StateSealer = {
    ...sealer,
    seal: async (state) => {
      await sealing.pass();
      return await sealer.seal(state);
    },
  };
  return { sealer: slow, sealing };
}

const asksName: RequestHandler = async (_, exchange) => ({
  name: nameIn(await exchange.sendRequest(form('Name?'))),
});

describe('a run that settles while suspended', () => {
  const racing = () => {
    const work = gate();
    const handler: RequestHandler = async (_, exchange) => {
      await Promise.race([exchange.sendRequest(form('Name?')), work.pass()]);
      return { by: 'itself' };
    };
    return { work, handler };
  };

  test('is kept no longer than other runs', async () => {
    const { work, handler } = racing();
    const { ask, retry, rounds, clock } = startRounds(handler);
    const asking = await ask();
    work.release();
    await flush();
    expect([rounds.isIdle, rounds.waiting.length]).toEqual([true, 1]);
    clock.increment(600_000);
    expect([rounds.waiting.length, clock.liveTimers]).toEqual([0, 0]);
    // It is run again.
    expect(await retry(asking).result).toEqual({ by: 'itself' });
  });

  test('counts towards the maximum of kept runs', async () => {
    const { work, handler } = racing();
    const { ask, rounds, clock } = startRounds(handler, { limits: { maxSuspendedCalls: 2 } });
    for (let n = 0; n < 2; n++) await ask({ arguments: { n } });
    work.release();
    await flush();
    await ask({ arguments: { n: 2 } });
    expect([rounds.waiting.length, clock.liveTimers]).toEqual([2, 2]);
  });
});

describe('a replayed handler that returns immediately', () => {
  test.each(['gives', 'throws'])(
    'leaves nothing, and a second retry is answered: %s',
    async (how) => {
      let runs = 0;
      const { ask, retry, rounds } = startRounds(
        (_, exchange) => {
          runs++;
          if (runs === 1) return asksName(undefined, exchange);
          if (how === 'throws') throw new Error('no');
          return { runs };
        },
        { resumption: 'replay' },
      );
      const asking = await ask();
      const outcomes = [1, 2].map(() => retry(asking, { q1: accepted('a') }).result.catch(String));
      expect(await Promise.all(outcomes)).toEqual(
        how === 'throws' ? ['Error: no', 'Error: no'] : [{ runs: 2 }, { runs: 2 }],
      );
      expect(rounds.isIdle).toBe(true);
    },
  );
});

describe('during the encryption of the request state', () => {
  test('a cancellation discards the run, and its handler cleans up', async () => {
    const { sealer, sealing } = slowSealer();
    const ended: string[] = [];
    const { send, rounds, clock } = startRounds(
      async (_, exchange) => {
        try {
          return await exchange.sendRequest(form('Name?'));
        } finally {
          ended.push('cleaned up');
        }
      },
      { sealer },
    );
    const { result, cancel } = send();
    await sealing.arrived();
    cancel();
    await expect(result).rejects.toMatchObject({ code: 'CANCELLED' });
    sealing.release();
    await flush();
    expect([ended, rounds.waiting, rounds.isIdle, clock.liveTimers]).toEqual([
      ['cleaned up'],
      [],
      true,
      0,
    ]);
  });

  test('a closing connection still sends the question, and the run ends', async () => {
    const { sealer, sealing } = slowSealer();
    const { send, rounds, clock } = startRounds(asksName, { sealer });
    const { result } = send();
    await sealing.arrived();
    rounds.close(new Error('The session has ended'));
    sealing.release();
    expect(await result).toMatchObject({ resultType: 'input_required' });
    await flush();
    expect([rounds.waiting, rounds.isIdle, clock.liveTimers]).toEqual([[], true, 0]);
  });

  test('another question of the handler joins the next round', async () => {
    const { sealer, sealing } = slowSealer();
    const more = gate();
    const { send, retry } = startRounds(
      async (_, exchange) => {
        const second = more.pass().then(() => exchange.sendRequest(form('Second?')));
        const first = nameIn(await exchange.sendRequest(form('First?')));
        return { first, second: nameIn(await second) };
      },
      { sealer },
    );
    const { result } = send();
    await sealing.arrived();
    more.release();
    await flush();
    sealing.release();
    const first = (await result) as Asking;
    expect(Object.keys(first.inputRequests)).toEqual(['q1']);
    const second = (await retry(first, { q1: accepted('a') }).result) as Asking;
    expect(Object.keys(second.inputRequests)).toEqual(['q2']);
    expect(await retry(second, { q2: accepted('b') }).result).toEqual({ first: 'a', second: 'b' });
  });

  test('a settled handler answers the request', async () => {
    const { sealer, sealing } = slowSealer();
    const work = gate();
    const { send, rounds, clock } = startRounds(
      async (_, exchange) => {
        await Promise.race([exchange.sendRequest(form('Name?')), work.pass()]);
        return { by: 'itself' };
      },
      { sealer },
    );
    const { result } = send();
    await sealing.arrived();
    work.release();
    expect(await result).toEqual({ by: 'itself' });
    sealing.release();
    await flush();
    expect([rounds.waiting, rounds.isIdle, clock.liveTimers]).toEqual([[], true, 0]);
  });
});

describe('a handler that requires URLs while it asks', () => {
  test('sends only the URLs and is replayed', async () => {
    const { sealer, sealing } = slowSealer();
    let isSignedIn = false;
    const { send, retry, rounds, clock } = startRounds(
      async (_, exchange) => {
        const [answer] = await Promise.all([
          exchange.sendRequest(form('Name?')),
          isSignedIn ? undefined : Promise.reject(demand()),
        ]);
        return { name: nameIn(answer) };
      },
      { sealer },
    );
    sealing.release();
    const asking = (await send().result) as Asking;
    expect(Object.values(asking.inputRequests)).toMatchObject([{ params: { mode: 'url' } }]);
    expect([rounds.waiting, clock.liveTimers]).toEqual([[], 0]);
    isSignedIn = true;
    const [key] = Object.keys(asking.inputRequests) as [string];
    const second = (await retry(asking, { [key]: { action: 'accept' } }).result) as Asking;
    expect(Object.values(second.inputRequests)).toMatchObject([{ params: { mode: 'form' } }]);
    const [name] = Object.keys(second.inputRequests) as [string];
    expect(await retry(second, { [name]: accepted('Ada') }).result).toEqual({ name: 'Ada' });
    expect([rounds.waiting, rounds.isIdle, clock.liveTimers]).toEqual([[], true, 0]);
  });

  test('sends the URLs to the retry after a suspension', async () => {
    const work = gate();
    let isSignedIn = false;
    const { ask, retry, rounds } = startRounds(async (_, exchange) => {
      if (isSignedIn) return { signedIn: true };
      await Promise.race([exchange.sendRequest(form('Name?')), work.pass()]);
      throw demand();
    });
    const first = await ask();
    work.release();
    await flush();
    const second = (await retry(first, { q1: accepted('Ada') }).result) as Asking;
    expect(Object.values(second.inputRequests)).toMatchObject([{ params: { mode: 'url' } }]);
    isSignedIn = true;
    const [key] = Object.keys(second.inputRequests) as [string];
    expect(await retry(second, { [key]: { action: 'accept' } }).result).toEqual({ signedIn: true });
    expect([rounds.waiting, rounds.isIdle]).toEqual([[], true]);
  });
});

describe('a call without replay or with singleUse', () => {
  test.each([{ replay: false }, { singleUse: true }])(
    'is replayed for the first retry after it required URLs: %j',
    async (resumption) => {
      let runs = 0;
      const handler: RequestHandler = async () => {
        if (runs++ === 0) throw demand();
        return { runs };
      };
      const { ask, retry, facts } = startRounds(
        Object.assign(handler, { resumption: () => resumption }),
      );
      const asking = await ask();
      const answers = { q1: { action: 'accept' } };
      expect(await retry(asking, answers).result).toEqual({ runs: 2 });
      const second = await retry(asking, answers).result.catch(
        ({ code }: { code: number }) => code,
      );
      expect(second).toEqual('singleUse' in resumption ? -32602 : { runs: 2 });
      expect([runs, facts.length]).toEqual([2, 'singleUse' in resumption ? 1 : 0]);
    },
  );
});

describe('during the decryption of a retry', () => {
  /** A question whose answer is checked once it is let. */
  function slowlyChecked() {
    const checking = gate();
    let runs = 0;
    const handler: RequestHandler = async (_, exchange) => {
      runs++;
      const spec = form('Name?');
      const name = nameIn(
        await exchange.sendRequest({
          ...spec,
          accepts: async () => {
            await checking.pass();
            return undefined;
          },
        }),
      );
      return { name, runs };
    };
    return { checking, handler };
  }

  test('an evicted run is replayed', async () => {
    const { checking, handler } = slowlyChecked();
    const { ask, retry, rounds } = startRounds(handler, { limits: { maxSuspendedCalls: 1 } });
    const asking = await ask();
    const { result } = retry(asking, { q1: accepted('Ada') });
    await checking.arrived();
    await ask({ arguments: { other: true } });
    checking.release();
    expect(await result).toEqual({ name: 'Ada', runs: 3 });
    rounds.close(new Error('over'));
    await flush();
    expect(rounds.isIdle).toBe(true);
  });

  test('an expired run is replayed', async () => {
    const { checking, handler } = slowlyChecked();
    const { ask, retry, clock } = startRounds(handler);
    const asking = await ask();
    const { result } = retry(asking, { q1: accepted('Ada') });
    await checking.arrived();
    clock.increment(600_000);
    checking.release();
    expect(await result).toEqual({ name: 'Ada', runs: 2 });
  });

  test('a cancelled request leaves the run suspended', async () => {
    const { checking, handler } = slowlyChecked();
    const { ask, retry, rounds } = startRounds(handler);
    const asking = await ask();
    const first = retry(asking, { q1: accepted('Ada') });
    await checking.arrived();
    first.cancel();
    checking.release();
    await expect(first.result).rejects.toMatchObject({ code: -32602 });
    expect(rounds.waiting).toHaveLength(1);
    expect(await retry(asking, { q1: accepted('Eve') }).result).toEqual({ name: 'Eve', runs: 1 });
  });

  test('a closing connection rejects the retry and leaves nothing', async () => {
    const { checking, handler } = slowlyChecked();
    const { ask, retry, rounds, clock } = startRounds(handler);
    const asking = await ask();
    const { result } = retry(asking, { q1: accepted('Ada') });
    await checking.arrived();
    rounds.close(new Error('The session has ended'));
    checking.release();
    await expect(result).rejects.toThrow('The server is shutting down');
    await flush();
    expect([rounds.waiting, rounds.isIdle, clock.liveTimers]).toEqual([[], true, 0]);
  });
});

describe('a handler of a suspendable call', () => {
  test('cannot ask after its run was cancelled', async () => {
    const asked: unknown[] = [];
    const { ask, clock, rounds } = startRounds(async (_, exchange) => {
      try {
        return await exchange.sendRequest(form('Name?'));
      } finally {
        asked.push(await exchange.sendRequest(form('Really?')).catch((error: unknown) => error));
      }
    });
    await ask();
    clock.increment(600_000);
    await flush();
    expect(asked).toMatchObject([{ code: 'CANCELLED' }]);
    expect([rounds.isIdle, clock.liveTimers]).toEqual([true, 0]);
  });

  test('runs concurrent once calls with one key a single time, and retries failed ones', async () => {
    let made = 0;
    const { send } = startRounds(async (_, exchange) => {
      const fail = () =>
        exchange.once('key', () => Promise.reject(new Error(`${++made}`))).catch(String);
      const failed = await Promise.all([fail(), fail()]);
      const again = await Promise.all([1, 2].map(() => exchange.once('__proto__', () => ++made)));
      return { failed, again, after: await exchange.once('key', () => 'made') };
    });
    expect(await send().result).toEqual({
      failed: ['Error: 1', 'Error: 1'],
      again: [2, 2],
      after: 'made',
    });
  });
});
