import { describe, expect, test } from 'vitest';
import { requestClient } from '../../src/actors/client-request.ts';
import { startCorrelation } from './client-requests.ts';
import { settled } from './stand-ins.ts';

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

/** A request that must have been sent. */
function ask(...given: Parameters<typeof requestClient>) {
  const { request, result } = requestClient(...given);
  if (!request) throw new Error('it was not sent');
  return { request, result };
}

const opened = (options = {}) => {
  const started = startCorrelation(options);
  started.open();
  return started;
};

describe('a request as a promise', () => {
  test('resolves with the result', async () => {
    const { ref, answer } = opened();
    const { request, result } = ask(ref, spec);
    answer(request.id, { roots: [] });
    await expect(result).resolves.toEqual({ roots: [] });
  });

  test('has params and a progress callback only where they are given', () => {
    const { ref, frames } = opened();
    ask(ref, { ...spec, params: undefined, onProgress: undefined });
    ask(ref, { ...spec, params: { a: 1 } });
    expect(frames()).toMatchObject([{ method: 'roots/list' }, { params: { a: 1 } }]);
    expect(frames()[0]).not.toHaveProperty('params');
  });

  test('that nobody waits for ends no process when it fails', async () => {
    const { ref, close } = opened();
    ask(ref, spec);
    close();
    await settled();
  });

  test('is cancelled by its signal, and the client hears why', async () => {
    const { ref, frames } = opened();
    const { controller, signal, listeners } = countedSignal();
    const { result } = ask(ref, { ...spec, signal });
    controller.abort(new Error('the user left'));
    await expect(result).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(frames()[1]).toMatchObject({ params: { reason: 'the user left' } });
    expect(listeners()).toBe(0);
  });

  test('with a signal that fired before is cancelled', async () => {
    const { ref, pending } = opened();
    const { signal, listeners, controller } = countedSignal();
    controller.abort();
    const { result } = requestClient(ref, { ...spec, signal });
    await expect(result).rejects.toMatchObject({ code: 'CANCELLED' });
    expect([pending(), listeners()]).toEqual([0, 0]);
  });

  test('with a signal that fired before is never sent: a person would see it flash by', () => {
    const { ref, frames } = opened();
    requestClient(ref, { ...spec, method: 'elicitation/create', signal: AbortSignal.abort() });
    expect(frames()).toEqual([]);
  });

  test.each(['answered', 'timed out', 'closed'])('leaves its signal when it is %s', (how) => {
    const { ref, answer, clock, close, wire } = opened();
    const { controller, signal, listeners } = countedSignal();
    const { request } = ask(ref, { ...spec, signal });
    expect(listeners()).toBe(1);
    if (how === 'answered') answer(request.id);
    else if (how === 'closed') close();
    else clock.increment(1000);
    expect(listeners()).toBe(0);
    const before = wire();
    controller.abort();
    expect(wire()).toEqual(before);
  });

  test('that is refused at once leaves nothing on its signal', async () => {
    const { ref } = opened({ maxPending: 0 });
    const { signal, listeners } = countedSignal();
    const { result } = ask(ref, { ...spec, signal });
    await expect(result).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
    expect(listeners()).toBe(0);
  });

  test('tells when it is settled, whatever the outcome, once', () => {
    const { ref, answer, close } = opened();
    const settledRequests: unknown[] = [];
    const onSettled = (each: unknown) => settledRequests.push(each);
    const first = ask(ref, spec, onSettled).request;
    const second = ask(ref, spec, onSettled).request;
    answer(first.id);
    close();
    expect(settledRequests).toEqual([first, second]);
  });

  test('to a session that is over fails, and does not hang', async () => {
    const { ref, actor } = opened();
    actor.stop();
    const { result } = ask(ref, spec);
    const outcome = result.then(
      () => 'answered',
      (error: { code: string }) => error.code,
    );
    const hangs = settled().then(() => 'hangs');
    await expect(Promise.race([outcome, hangs])).resolves.toBe('TRANSPORT_CLOSED');
  });
});

describe('a progress callback that throws', () => {
  test('fails its own request with what it threw, and nobody else', async () => {
    const { ref, progress, errors, answer } = opened();
    const thrown = new Error('bug');
    const { request, result } = ask(ref, {
      ...spec,
      onProgress: () => {
        throw thrown;
      },
    });
    const other = ask(ref, spec);
    progress({ progressToken: request.id, progress: 1 });
    await expect(result).rejects.toBe(thrown);
    answer(other.request.id, { fine: true });
    await expect(other.result).resolves.toEqual({ fine: true });
    answer(request.id);
    expect(errors).toEqual([]);
  });
});

describe('the reason of an abort', () => {
  test.each([
    ['text', 'text'],
    [new Error('m'), 'm'],
    [null, 'cancelled'],
    [7, 'cancelled'],
    [{ message: 'm' }, 'cancelled'],
    [Object.create(null), 'cancelled'],
  ])('is told to the client as text, never with a stack (%#)', (reason: unknown, text) => {
    const { ref, frames } = opened();
    const controller = new AbortController();
    ask(ref, { ...spec, signal: controller.signal });
    controller.abort(reason);
    expect(frames()[1]).toMatchObject({ params: { reason: text } });
  });
});
