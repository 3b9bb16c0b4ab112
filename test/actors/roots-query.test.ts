import { createActor } from 'xstate';
import { describe, expect, test } from 'vitest';
import { rootsQueryActor } from '../../src/actors/roots/roots-query.actor.ts';
import type { RootsResolver } from '../../src/protocol/roots.ts';
import type { RequestId } from '../../src/protocol/frames.ts';
import { startCorrelation } from './peer-requests.ts';
import { facts, settled } from './fakes.ts';

function startAsking(resolve?: RootsResolver) {
  const { heard: told, report } = facts();
  const all = startCorrelation();
  all.open();
  const asking = createActor(
    rootsQueryActor(() => ({ resolve, list: (request) => request(), reserve: () => true, report })),
    {
      input: { correlation: all.ref, timeoutMs: 5000 },
    },
  );
  const errors: unknown[] = [];
  asking.subscribe({ error: (error) => errors.push(error) });
  asking.start();
  const id = (): RequestId | undefined => {
    const [frame] = all.frames();
    return frame && 'id' in frame ? frame.id : undefined;
  };
  const outcome = async () => {
    await settled();
    return asking.getSnapshot().output;
  };
  /** The rejection. */
  const failure = async () => {
    expect(await outcome()).toBeUndefined();
    expect(errors).toHaveLength(1);
    return errors[0];
  };
  return { ...all, asking, id, outcome, failure, told };
}

describe('the roots query', () => {
  test('sends roots/list and returns the entries unchanged', async () => {
    const { wire, id, answer, outcome } = startAsking();
    expect(wire()).toEqual(['roots/list']);
    answer(id(), { roots: [{ uri: 'file:///a' }, 7] });
    expect(await outcome()).toMatchObject({
      kind: 'answered',
      roots: [{ uri: 'file:///a' }, { problem: { code: 'MALFORMED' } }],
    });
  });

  test('returns resolved entries together with the list', async () => {
    const { id, answer, outcome } = startAsking((roots) =>
      Promise.resolve(roots.map((root) => ({ ...root, path: '/real' }))),
    );
    answer(id(), { roots: [{ uri: 'file:///a' }] });
    expect(await outcome()).toEqual({
      kind: 'answered',
      roots: [{ uri: 'file:///a', path: '/real' }],
    });
  });

  test('reports roots as unsupported only for -32601', async () => {
    const unsupported = startAsking();
    unsupported.fail(unsupported.id(), { error: { code: -32601, message: 'no' } });
    expect(await unsupported.outcome()).toMatchObject({
      kind: 'unsupported',
      problem: expect.stringContaining('-32601') as string,
    });
    const failed = startAsking();
    failed.fail(failed.id(), { error: { code: -32603, message: 'no' } });
    expect(await failed.failure()).toMatchObject({
      code: 'REQUEST_FAILED',
      message: expect.stringContaining('-32603') as string,
    });
  });

  test.each([{}, { roots: null }, { roots: 'file:///a' }])(
    'fails with a reason if the list is malformed: %j',
    async (result) => {
      const { id, answer, failure } = startAsking();
      answer(id(), result);
      expect(await failure()).toMatchObject({
        code: 'INVALID_RESPONSE',
        message: expect.stringContaining('result.roots') as string,
      });
    },
  );

  test('fails and cancels the request if the answer times out', async () => {
    const { clock, failure, wire } = startAsking();
    clock.increment(5000);
    expect(await failure()).toMatchObject({
      code: 'REQUEST_TIMEOUT',
      message: expect.stringContaining('5000 ms') as string,
    });
    expect(wire()).toEqual(['roots/list', 'cancelled']);
  });

  test('fails if the session ends or the client cancels', async () => {
    const closed = startAsking();
    closed.close();
    expect(await closed.failure()).toMatchObject({ code: 'TRANSPORT_CLOSED' });
    const cancelled = startAsking();
    cancelled.remoteCancel(cancelled.id() ?? '');
    expect(await cancelled.failure()).toMatchObject({ code: 'REMOTE_CANCELLED' });
  });

  test('rejects with an error of the resolver, and reports it with its stack', async () => {
    const bug = new TypeError('bug');
    const { id, answer, failure, told } = startAsking(() => Promise.reject(bug));
    answer(id(), { roots: [] });
    const message = 'The server could not resolve the roots: TypeError: bug';
    const error = await failure();
    expect(error).toMatchObject({ message });
    expect(error).toHaveProperty('cause', bug);
    expect(told).toEqual([
      { level: 'error', name: 'resolver.failed', message, details: { error: bug } },
    ]);
  });

  test('reports no error if stopped while the entries are resolved', async () => {
    const { id, answer, asking, told } = startAsking(
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    );
    answer(id(), { roots: [] });
    await settled();
    asking.stop();
    await settled();
    expect(told).toEqual([]);
  });

  test('cancels its request when stopped', async () => {
    const { asking, wire, pending } = startAsking();
    asking.stop();
    await settled();
    expect([wire(), pending()]).toEqual([['roots/list', 'cancelled'], 0]);
  });
});
