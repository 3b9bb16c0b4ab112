import {
  cancelled,
  gate,
  initialized,
  notification,
  request,
  result,
  toolCall,
  flush,
} from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { asking } from './asking.ts';
import { batchCombinations, byteCombinations, everywhere, except, only } from './everywhere.ts';
import { echo, initialize, operate, serve, textOf, tool } from './serving.ts';

everywhere('batches', only('2025-03-26', batchCombinations), () => {
  test('answers a batch with one batch, member by member [BATCH-01] [BATCH-05]', async () => {
    const { peer } = await operate({ tools: [echo] });
    peer.send([
      request(1, 'ping'),
      toolCall('1', 'echo', { a: 1 }),
      notification('no/such'),
      request(2, 'no/such'),
      17,
      { jsonrpc: '2.0', id: 3, method: 4 },
      [request(4, 'ping')],
      result('s-unknown', {}),
    ]);
    const answers = await peer.batch();
    const codes = new Map(answers.map(({ id, error }) => [id, error?.code ?? 'result']));
    expect(answers).toHaveLength(6);
    expect(codes).toEqual(
      new Map<unknown, unknown>([
        [1, 'result'],
        ['1', 'result'],
        [2, -32601],
        [undefined, -32600],
        [3, -32600],
      ]),
    );
  });

  test('holds the batch for its slowest member, and answers later messages meanwhile [BATCH-01]', async () => {
    const door = gate();
    const hold = tool('hold', async () => {
      await door.pass();
      return 'held';
    });
    const { peer } = await operate({ tools: [echo, hold] });
    peer.send([toolCall(1, 'hold'), toolCall(2, 'echo')]);
    await door.arrived();
    expect(textOf(await peer.call('echo'))).toBe('{}');
    await peer.quiet();
    expect(peer.received.some(Array.isArray)).toBe(false);
    door.release();
    expect((await peer.batch()).map(({ id }) => id)).toEqual([2, 1]);
  });

  test('fails our request for a malformed response in a batch, without an answer to it [BATCH-01] [BASE-09]', async () => {
    const { ask, errors } = asking();
    const { peer } = await operate({ tools: [ask] });
    const called = peer.call('ask', { method: 'custom/question' });
    const { id } = await peer.request('custom/question');
    peer.send([{ jsonrpc: '2.0', id, method: null }, request(2, 'ping')]);
    expect(await peer.batch()).toEqual([{ jsonrpc: '2.0', id: 2, result: {} }]);
    expect((await called)?.['isError']).toBe(true);
    expect(errors).toMatchObject([{ code: 'INVALID_RESPONSE' }]);
  });

  test('processes a batch of notifications and responses without answering it [BATCH-02]', async () => {
    const { peer, session } = await operate({ tools: [echo] }, { capabilities: { roots: {} } });
    const asked = await peer.request('roots/list');
    const before = peer.received.length;
    peer.send([notification('no/such'), result(asked.id, { roots: [{ uri: 'file:///a' }] })]);
    await peer.quiet();
    expect(peer.received).toHaveLength(before + 1);
    expect(session.actor.getSnapshot().context.report?.roots).toEqual([{ uri: 'file:///a' }]);
  });

  test('omits a cancelled member from the answers of a batch [BATCH-03]', async () => {
    const door = gate();
    const hold = tool('hold', (_, { signal }) => door.pass(signal));
    const { peer } = await operate({ tools: [echo, hold] });
    peer.send([toolCall(1, 'hold'), toolCall(2, 'echo')]);
    await door.arrived();
    peer.send(cancelled(1));
    expect((await peer.batch()).map(({ id }) => id)).toEqual([2]);
  });

  test('sends nothing for a batch whose members were all cancelled [BATCH-03]', async () => {
    const door = gate();
    const hold = tool('hold', (_, { signal }) => door.pass(signal));
    const { peer } = await operate({ tools: [hold] });
    peer.send([toolCall(1, 'hold'), toolCall(2, 'hold')]);
    await door.arrived(2);
    const before = peer.received.length;
    peer.send([cancelled(1), cancelled(2)]);
    await peer.quiet();
    expect(peer.received).toHaveLength(before + 1);
  });

  test('accepts a request and its cancellation in one batch [BATCH-03]', async () => {
    const hold = tool('hold', (_, { signal }) => gate().pass(signal));
    const { peer } = await operate({ tools: [hold, echo] });
    peer.send([toolCall(1, 'hold'), cancelled(1), toolCall(2, 'echo')]);
    expect((await peer.batch()).map(({ id }) => id)).toEqual([2]);
  });

  test('rejects a repeated id in a batch once, and serves the first request [BASE-07] [BATCH-01]', async () => {
    const later = tool('later', async (args) => await Promise.resolve(JSON.stringify(args)));
    const { peer } = await operate({ tools: [later] });
    peer.send([toolCall(1, 'later', { first: true }), toolCall(1, 'later')]);
    const answers = await peer.batch();
    expect(answers.map(({ error }) => error?.code)).toEqual([-32600, undefined]);
    expect(textOf(answers[1]?.result)).toBe('{"first":true}');
  });

  test('rejects initialize in a batch [BATCH-04]', async () => {
    const { peer, session } = await operate({ tools: [echo] });
    peer.send([initialize(1), request(2, 'ping')]);
    const answers = await peer.batch();
    expect(answers.find(({ id }) => id === 1)?.error?.code).toBe(-32600);
    expect(answers.find(({ id }) => id === 2)?.result).toEqual({});
    expect(session.actor.getSnapshot().context.client?.info.name).toBe('scripted-peer');
  });

  test('accepts initialized in a batch [BATCH-07]', async () => {
    const { peer } = serve({ tools: [echo] });
    peer.send(initialize(1, { capabilities: { roots: {} } }));
    await peer.response(1);
    peer.send([initialized, request(2, 'ping')]);
    await peer.batch();
    await peer.quiet();
    expect(peer.count('roots/list')).toBe(1);
  });

  test('answers an empty batch with one error [BATCH-05]', async () => {
    const { peer } = await operate({ tools: [echo] });
    peer.send([]);
    expect((await peer.error(undefined)).code).toBe(-32600);
  });

  test('answers a thousand calls in a batch with one frame [BATCH-01] [FLOW-01]', async () => {
    const { peer } = await operate({ tools: [echo] });
    peer.send(Array.from({ length: 1000 }, (_, id) => toolCall(id, 'echo', { id })));
    const answers = await peer.batch();
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1000);
    expect(answers.every(({ error }) => error === undefined)).toBe(true);
  });
});

everywhere('batches in other revisions', except('2025-03-26', batchCombinations), () => {
  test('rejects a batch as a whole where the revision has none, and runs nothing in it [BATCH-06]', async () => {
    let runs = 0;
    const counted = tool('counted', () => `${++runs}`);
    const { peer } = await operate({ tools: [counted] });
    peer.send([toolCall(1, 'counted')]);
    const refusal = await peer.response(undefined);
    expect(refusal.error?.code).toBe(-32600);
    await peer.quiet();
    expect(runs).toBe(0);
  });
});

// Over HTTP no message is accepted before a session, and input has no end.
everywhere('batches', only('2025-03-26', byteCombinations), () => {
  test('answers batches in flight at the drain deadline [LIFE-16] [BATCH-01]', async () => {
    const door = gate();
    const hold = tool('hold', () => door.pass());
    const { peer, clock, session } = await operate({ tools: [hold, echo] });
    peer.send([toolCall(1, 'hold'), toolCall(2, 'echo')]);
    await door.arrived();
    peer.end();
    await flush();
    expect(session.actor.getSnapshot().matches('draining')).toBe(true);
    clock.increment(2000);
    const answers = await peer.batch();
    expect(answers.map(({ id, error }) => [id, error?.code])).toEqual([
      [2, undefined],
      [1, -32000],
    ]);
  });
});

everywhere('malformed batches', only('2025-03-26', byteCombinations), () => {
  test('rejects batches before initialize, whatever they contain [BATCH-06] [BATCH-04]', async () => {
    const { peer, session } = serve({ tools: [echo] });
    peer.send([initialize(1)]);
    expect((await peer.error(undefined)).code).toBe(-32600);
    expect(session.state).toBe('uninitialized');
    await peer.handshake();
    peer.send([request(2, 'ping')]);
    expect(await peer.batch()).toHaveLength(1);
  });
});
