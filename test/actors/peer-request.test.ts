import { describe, expect, test } from 'vitest';
import {
  AwaitedRequest,
  requestPeer,
  sendRequests,
} from '../../src/actors/correlation/peer-request.ts';
import type { OutboundRequest } from '../../src/actors/request-context.ts';
import type { Ref } from '../../src/machines/port.ts';
import type { CorrelationEvent } from '../../src/machines/peer-ports.ts';
import { startCorrelation } from './peer-requests.ts';
import { settled } from './fakes.ts';

const spec = { method: 'roots/list', timeoutMs: 1000, maxTotalMs: 5000 };

/** A signal that counts its listeners. */
function countedSignal() {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const [add, remove] = [
    signal.addEventListener.bind(signal),
    signal.removeEventListener.bind(signal),
  ];
  const known = new Set<unknown>();
  signal.addEventListener = (
    type: string,
    listener: unknown,
    options?: { readonly once?: boolean },
  ) => {
    if (!known.has(listener)) listeners++;
    known.add(listener);
    add(type as 'abort', listener as () => void, options);
  };
  signal.removeEventListener = (type: string, listener: unknown) => {
    if (known.delete(listener)) listeners--;
    remove(type as 'abort', listener as () => void);
  };
  return { controller, signal, listeners: () => listeners };
}

/** A request of an owner that lists its unsettled requests. */
function ask(
  correlation: Ref<CorrelationEvent>,
  given: OutboundRequest,
  open = new Set<AwaitedRequest>(),
) {
  const settled = (request: AwaitedRequest) => void open.delete(request);
  const request = new AwaitedRequest(given, { correlation, onSettled: settled });
  open.add(request);
  sendRequests(correlation, [request]);
  return { request, result: request.result, open };
}

const opened = (options = {}) => {
  const started = startCorrelation(options);
  started.open();
  return started;
};

describe('requestPeer', () => {
  test('resolves with the result', async () => {
    const { ref, answer } = opened();
    const { request, result } = ask(ref, spec);
    answer(request.ticket?.id, { roots: [] });
    await expect(result).resolves.toEqual({ roots: [] });
  });

  test('passes params and a progress callback only if given', () => {
    const { ref, frames } = opened();
    ask(ref, { ...spec, params: undefined, onProgress: undefined });
    ask(ref, { ...spec, params: { a: 1 } });
    expect(frames()).toMatchObject([{ method: 'roots/list' }, { params: { a: 1 } }]);
    expect(frames()[0]).not.toHaveProperty('params');
  });

  test('does not end the process if its failure is ignored', async () => {
    const { ref, close } = opened();
    ask(ref, spec);
    close();
    await settled();
  });

  test('is cancelled by its signal, and sends the reason to the client', async () => {
    const { ref, frames } = opened();
    const { controller, signal, listeners } = countedSignal();
    const { result } = ask(ref, { ...spec, signal });
    const reason = new Error('the user left');
    controller.abort(reason);
    const error = await result.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'CANCELLED', request: { method: 'roots/list' } });
    expect(error).toHaveProperty('cause', reason);
    expect(frames()[1]).toMatchObject({ params: { reason: 'the user left' } });
    expect(listeners()).toBe(0);
  });

  test('fails if a busy actor is stopped before processing it', async () => {
    const { ref, actor, answer } = opened();
    const lost: Promise<unknown>[] = [];
    const first = ask(ref, spec);
    const settled = () => {
      lost.push(requestPeer(ref, spec));
      actor.stop();
    };
    const second = new AwaitedRequest(spec, { correlation: ref, onSettled: settled });
    sendRequests(ref, [second]);
    answer(second.ticket?.id);
    await expect(first.result).rejects.toMatchObject({ code: 'TRANSPORT_CLOSED' });
    expect(lost).toHaveLength(1);
    await expect(lost[0]).rejects.toMatchObject({ code: 'TRANSPORT_CLOSED' });
  });

  test('is sent after the current work of a busy actor', async () => {
    const { ref, answer, wire } = opened();
    const next: Promise<unknown>[] = [];
    const settledFirst = () => void next.push(requestPeer(ref, { ...spec, method: 'ping' }));
    const first = new AwaitedRequest(spec, { correlation: ref, onSettled: settledFirst });
    sendRequests(ref, [first]);
    answer(first.ticket?.id);
    await settled();
    expect(wire()).toEqual(['roots/list', 'ping']);
    expect(next).toHaveLength(1);
  });

  test('rejects with CANCELLED if the signal has already fired', async () => {
    const { ref, pending } = opened();
    const { signal, listeners, controller } = countedSignal();
    const reason = new Error('too late');
    controller.abort(reason);
    const error = await requestPeer(ref, { ...spec, signal }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'CANCELLED',
      request: { method: 'roots/list', elapsedMs: 0 },
    });
    expect(error).toHaveProperty('cause', reason);
    expect([pending(), listeners()]).toEqual([0, 0]);
  });

  test('is never sent if the signal has already fired, as a person might see it flash by', () => {
    const { ref, frames } = opened();
    void requestPeer(ref, {
      ...spec,
      method: 'elicitation/create',
      signal: AbortSignal.abort(),
    });
    expect(frames()).toEqual([]);
  });

  test.each(['answered', 'timed out', 'closed'])(
    'removes its signal listener when it is %s',
    (how) => {
      const { ref, answer, clock, close, wire } = opened();
      const { controller, signal, listeners } = countedSignal();
      const { request } = ask(ref, { ...spec, signal });
      expect(listeners()).toBe(1);
      if (how === 'answered') answer(request.ticket?.id);
      else if (how === 'closed') close();
      else clock.increment(1000);
      expect(listeners()).toBe(0);
      const before = wire();
      controller.abort();
      expect(wire()).toEqual(before);
    },
  );

  test.each(['the bound is reached', 'the gate is closed'])(
    'leaves no signal listener and no entry if rejected at once: %s',
    async (why) => {
      const { ref, close } = opened({ maxPending: why === 'the bound is reached' ? 0 : 1 });
      if (why === 'the gate is closed') close();
      const { signal, listeners } = countedSignal();
      const { result, open } = ask(ref, { ...spec, signal });
      expect([listeners(), open.size]).toEqual([0, 0]);
      await expect(result).rejects.toMatchObject({
        code: why === 'the bound is reached' ? 'LIMIT_EXCEEDED' : 'TRANSPORT_CLOSED',
      });
    },
  );

  test('stays in the list of its owner until it settles, in any order', () => {
    const { ref, answer, fail, cancel, remoteCancel, clock, close } = opened();
    const open = new Set<AwaitedRequest>();
    const [answered, failed, cancelled, remote, closed] = Array.from(
      { length: 5 },
      () => ask(ref, spec, open).request,
    ) as [AwaitedRequest, AwaitedRequest, AwaitedRequest, AwaitedRequest, AwaitedRequest];
    const slow = ask(ref, { ...spec, timeoutMs: 10 }, open).request;
    expect(open.size).toBe(6);
    clock.increment(10);
    expect(open).not.toContain(slow);
    answer(answered.ticket?.id);
    fail(failed.ticket?.id, { error: { code: 1, message: 'no' } });
    cancel(cancelled);
    remoteCancel(remote.ticket?.id ?? '');
    expect([...open]).toEqual([closed]);
    close();
    expect(open.size).toBe(0);
    answer(closed.ticket?.id);
    expect(open.size).toBe(0);
  });

  test('rejects instead of hanging if the session is over', async () => {
    const { ref, actor } = opened();
    actor.stop();
    const { signal, listeners } = countedSignal();
    const { result, open } = ask(ref, { ...spec, signal });
    expect([listeners(), open.size]).toEqual([0, 0]);
    const outcome = result.then(
      () => 'answered',
      (error: { code: string }) => error.code,
    );
    const hangs = settled().then(() => 'hangs');
    await expect(Promise.race([outcome, hangs])).resolves.toBe('TRANSPORT_CLOSED');
  });
});

describe('a progress callback that throws', () => {
  test('fails only its own request, with the thrown error', async () => {
    const { ref, progress, errors, answer } = opened();
    const thrown = new Error('bug');
    let heard = 0;
    const { request, result, open } = ask(ref, {
      ...spec,
      onProgress: () => {
        heard++;
        throw thrown;
      },
    });
    const other = ask(ref, spec);
    progress({ progressToken: request.ticket?.id, progress: 1 });
    expect(open.size).toBe(0);
    progress({ progressToken: request.ticket?.id, progress: 2 });
    await expect(result).rejects.toBe(thrown);
    expect(heard).toBe(1);
    answer(other.request.ticket?.id, { fine: true });
    await expect(other.result).resolves.toEqual({ fine: true });
    answer(request.ticket?.id);
    expect(errors).toEqual([]);
  });

  test('cancels its request at the client', () => {
    const { ref, progress, frames, pending } = opened();
    const { request } = ask(ref, {
      ...spec,
      onProgress: () => {
        throw new Error('secret');
      },
    });
    progress({ progressToken: request.ticket?.id, progress: 1 });
    expect(frames().slice(1)).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: {
          requestId: request.ticket?.id,
          reason: expect.not.stringContaining('secret') as string,
        },
      },
    ]);
    expect(pending()).toBe(0);
  });
});

describe('describeReason', () => {
  test.each([
    ['text', 'text'],
    [new Error('m'), 'm'],
    [null, 'cancelled'],
    [7, 'cancelled'],
    [{ message: 'm' }, 'cancelled'],
    [Object.create(null), 'cancelled'],
  ])('converts an abort reason to text without a stack (%#)', (reason: unknown, text) => {
    const { ref, frames } = opened();
    const controller = new AbortController();
    ask(ref, { ...spec, signal: controller.signal });
    controller.abort(reason);
    expect(frames()[1]).toMatchObject({ params: { reason: text } });
  });
});
