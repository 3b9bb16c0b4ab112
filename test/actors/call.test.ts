import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Call } from '../../src/actors/router/call.ts';
import { isThenable } from '../../src/actors/request-context.ts';
import type { CallScope } from '../../src/actors/router/call.ts';
import { RuntimeError } from '../../src/protocol/errors.ts';
import { startCorrelation } from './peer-requests.ts';
import { settled } from './fakes.ts';
import { clientId } from './ids.ts';

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at);
const spec = { method: 'elicitation/create', timeoutMs: 1000, maxTotalMs: 1000 };
const reason = new RuntimeError('CANCELLED', 'The client cancelled the request');

function startCall(options = {}) {
  const all = startCorrelation(options);
  all.open();
  const scope: CallScope = {
    roots: () => undefined,
    isWritable: () => true,
    whenWritable: (callback: () => void) => callback(),
    isClosing: () => false,
    writer: all.writer.ref,
    correlation: all.ref,
    detach: () => () => {},
    drop: () => {},
    park: () => {},
    resume: () => {},
  };
  const replies = { add: () => {}, drop: () => {} };
  const call = new Call(
    { id: clientId(1), method: 'tools/call', params: undefined },
    () => ({}),
    scope,
    { peer: {} as never },
    replies,
  );
  call.state = 'running';
  return { ...all, call };
}

test('recognizes any object with a then method as a promise, and no other value', () => {
  // A computed member name, because the linter rejects a literal "then".
  const withMember = (name: string, value: unknown): object => ({ [name]: value });
  const withThen = (then: unknown): object => withMember('then', then);
  expect([Promise.resolve(), withThen(() => {})].map(isThenable)).toEqual([true, true]);
  const others = [withThen('next'), withThen(undefined), withThen({}), {}, [], null, 'then', 7];
  expect(others.filter(isThenable)).toEqual([]);
});

describe('the signal of a call', () => {
  test('is one signal per call, and fires with the reason', () => {
    const { call } = startCall();
    const { signal } = call;
    expect([call.signal, signal.aborted]).toEqual([signal, false]);
    call.abort(reason);
    expect([signal.aborted, signal.reason]).toEqual([true, reason]);
  });

  test('is already aborted when first read after the cancellation', () => {
    const { call } = startCall();
    call.abort(reason);
    expect([call.signal.aborted, call.signal.reason]).toEqual([true, reason]);
  });

  test('does not fire when the call is answered', () => {
    const { call } = startCall();
    const { signal } = call;
    call.end();
    expect([signal.aborted, call.signal.aborted]).toEqual([false, false]);
  });
});

describe('the requests of a call', () => {
  test("resolve with the client's answer", async () => {
    const { call, frames, answer } = startCall();
    const result = call.sendRequest(spec);
    await settled();
    const [frame] = frames();
    answer(frame && 'id' in frame ? frame.id : undefined, { action: 'accept' });
    await expect(result).resolves.toEqual({ action: 'accept' });
  });

  test.each(['cancelled', 'ended'])('are all cancelled with the call: %s', async (how) => {
    const { call, wire, pending } = startCall();
    const results = [call.sendRequest(spec), call.sendRequest(spec)];
    await settled();
    if (how === 'cancelled') call.abort(reason);
    else call.end();
    for (const result of results) await expect(result).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(wire()).toEqual([spec.method, spec.method, 'cancelled', 'cancelled']);
    expect(pending()).toBe(0);
  });

  test('are sent together, in order, when made in one turn', async () => {
    const { call, writer } = startCall();
    for (const method of ['a', 'b', 'c']) void call.sendRequest({ ...spec, method });
    expect(writer.events).toEqual([]);
    await settled();
    expect(writer.events).toMatchObject([
      { relatedTo: { id: 1 }, frames: [{ method: 'a' }, { method: 'b' }, { method: 'c' }] },
    ]);
  });

  test.each(['cancelled', 'ended', 'aborted by its own signal', 'closed with the session'])(
    'fail without reaching the client if the call ends in the same turn: %s',
    async (how) => {
      const { call, actor, frames, pending } = startCall();
      const controller = new AbortController();
      const result = call.sendRequest({ ...spec, signal: controller.signal });
      if (how === 'cancelled') call.abort(reason);
      else if (how === 'ended') call.end();
      else if (how.startsWith('aborted')) controller.abort();
      else actor.stop();
      const code = how.startsWith('closed') ? 'TRANSPORT_CLOSED' : 'CANCELLED';
      await expect(result).rejects.toMatchObject({ code });
      expect([frames(), pending()]).toEqual([[], 0]);
    },
  );

  test('are sent before a later notification of the call', async () => {
    const { call, wire } = startCall();
    void call.sendRequest(spec);
    call.notify('notifications/progress', { progress: 1 });
    await settled();
    expect(wire()).toEqual([spec.method, 'progress']);
  });

  test('are not cancelled once answered', async () => {
    const { call, frames, wire, answer } = startCall();
    void call.sendRequest(spec);
    await settled();
    const [frame] = frames();
    answer(frame && 'id' in frame ? frame.id : undefined);
    call.end();
    expect(wire()).toEqual([spec.method]);
  });

  test.each(['cancelled', 'ended'])(
    'are rejected without reaching the client after the call was %s',
    async (how) => {
      const { call, frames, pending } = startCall();
      if (how === 'cancelled') call.abort(reason);
      else call.end();
      await expect(call.sendRequest(spec)).rejects.toMatchObject({ code: 'CANCELLED' });
      expect([frames(), pending()]).toEqual([[], 0]);
    },
  );

  test('are rejected after the end of the session instead of hanging', async () => {
    const { call, actor } = startCall();
    call.abort(reason);
    actor.stop();
    await expect(call.sendRequest(spec)).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  test('are cancelled at the end if still pending, in whatever order others were answered', async () => {
    const order = fc.shuffledSubarray(upTo(9));
    await fc.assert(
      fc.asyncProperty(order, async (answered) => {
        const { call, frames, answer, pending } = startCall();
        const results = upTo(9).map(() => call.sendRequest(spec));
        await settled();
        const ids = frames().map((frame) => ('id' in frame ? frame.id : undefined));
        for (const at of answered) {
          answer(ids[at], { at });
          await expect(results[at]).resolves.toEqual({ at });
        }
        expect(call.openRequests).toBe(9 - answered.length);
        call.end();
        const open = upTo(9).filter((at) => !answered.includes(at));
        for (const at of open)
          await expect(results[at]).rejects.toMatchObject({ code: 'CANCELLED' });
        const cancelled = frames()
          .slice(9)
          .map((frame) => ('params' in frame ? frame.params : undefined));
        expect(new Set(cancelled)).toEqual(
          new Set(open.map((at) => ({ requestId: ids[at], reason: 'its request has ended' }))),
        );
        expect([call.openRequests, pending()]).toEqual([0, 0]);
      }),
      { numRuns: 50 },
    );
  });

  test('are not kept if rejected immediately', async () => {
    const { call, ref } = startCall({ maxPending: 0 });
    await expect(call.sendRequest(spec)).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
    const sent: string[] = [];
    const send = ref.send.bind(ref);
    ref.send = (event) => {
      sent.push(event.type);
      send(event);
    };
    call.end();
    expect(sent).toEqual([]);
  });

  test('are cancelled by their own signal without ending the call', async () => {
    const { call } = startCall();
    const controller = new AbortController();
    const result = call.sendRequest({ ...spec, signal: controller.signal });
    controller.abort();
    await expect(result).rejects.toMatchObject({ code: 'CANCELLED' });
    expect([call.state, call.signal.aborted]).toEqual(['running', false]);
  });
});

describe('Call.notify', () => {
  test('sends while the call runs, and not after its end', () => {
    const { call, frames } = startCall();
    call.notify('notifications/progress', { progress: 1 });
    call.end();
    call.notify('notifications/progress', { progress: 2 });
    expect(frames()).toEqual([
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } },
    ]);
  });
});
