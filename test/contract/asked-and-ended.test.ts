import { cancelled, gate, progressed, result, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { asking } from './asking.ts';
import { eachTransportAndStreams, everywhere } from './everywhere.ts';
import { operateWarm, textOf, tool } from './serving.ts';

const method = 'custom/question';
const question = (id: number | string) => toolCall(id, 'ask', { method });

everywhere('requests to the client', eachTransportAndStreams, (combination) => {
  test('cancels a server request with the client request it belongs to [CANCEL-05]', async () => {
    const { ask, errors } = asking();
    const { peer } = await operateWarm({ tools: [ask] }, combination);
    peer.send(question(1), question(2));
    const first = await peer.request(method);
    const second = await peer.request(method);
    peer.send(cancelled(1, 'changed my mind'));
    const { params } = await peer.notification('notifications/cancelled');
    expect(params?.['requestId']).toBe(first.id);
    peer.answer(second, { still: 'wanted' });
    expect(textOf((await peer.response(2)).result)).toBe('{"still":"wanted"}');
    await peer.quiet();
    expect(errors).toMatchObject([{ code: 'CANCELLED' }]);
    expect(peer.count('notifications/cancelled')).toBe(1);
  });

  test('fails a server request that the client cancels under an id of no client request [CANCEL-06]', async () => {
    const { ask, errors } = asking();
    const { peer } = await operateWarm({ tools: [ask] }, combination);
    peer.send(question(1));
    const { id } = await peer.request(method);
    peer.send(cancelled(id, 'the user left'));
    expect((await peer.response(1)).result?.['isError']).toBe(true);
    expect(errors).toMatchObject([{ code: 'REMOTE_CANCELLED' }]);
    expect(errors[0]?.message).toContain('the user left');
    expect(peer.count('notifications/cancelled')).toBe(0);
  });
});

everywhere('a cancellation with an id of both directions', eachTransportAndStreams, () => {
  test("applies a cancellation to the client's own request first, then to ours [CANCEL-06] [BASE-02]", async () => {
    const { ask, errors } = asking();
    const door = gate();
    const hold = tool('hold', (_, { signal }) => door.pass(signal));
    const { peer } = await operateWarm({ tools: [ask, hold] });
    peer.send(question(1));
    const asked = await peer.request(method);
    peer.send(toolCall(asked.id, 'hold'));
    await door.arrived();
    peer.send(cancelled(asked.id));
    await peer.quiet();
    expect(errors).toEqual([]);

    peer.send(cancelled(asked.id));
    await peer.response(1);
    expect(errors).toMatchObject([{ code: 'REMOTE_CANCELLED' }]);
  });

  test('fails a server request cancelled before its answer, and treats the answer as late [CANCEL-06] [CORR-03]', async () => {
    const { ask, errors } = asking();
    const { peer, facts } = await operateWarm({ tools: [ask] });
    peer.send(question(1));
    const asked = await peer.request(method);
    peer.send(cancelled(asked.id), result(asked.id, { too: 'late' }));
    expect((await peer.response(1)).result?.['isError']).toBe(true);
    expect(errors).toMatchObject([{ code: 'REMOTE_CANCELLED' }]);
    await facts.next('response.late');
  });

  test('ignores a cancellation of a server request after its answer [CANCEL-06] [CANCEL-03]', async () => {
    const { ask, errors } = asking();
    const { peer, facts } = await operateWarm({ tools: [ask] });
    peer.send(question(1));
    const asked = await peer.request(method);
    peer.send(result(asked.id, { in: 'time' }), cancelled(asked.id));
    expect(textOf((await peer.response(1)).result)).toBe('{"in":"time"}');
    await facts.next('cancellation.ignored');
    expect(errors).toEqual([]);
  });
});

everywhere('requests to the client', eachTransportAndStreams, () => {
  test('cancels a server request that the handler did not await when the request ends [CANCEL-09]', async () => {
    const door = gate();
    const forgets = tool('forgets', async (_, context) => {
      void context.request(method).catch(() => {});
      await door.pass();
      return 'done';
    });
    const { peer } = await operateWarm({ tools: [forgets] });
    peer.send(toolCall(1, 'forgets'));
    const { id } = await peer.request(method);
    door.release();
    const { params } = await peer.notification('notifications/cancelled');
    expect(params?.['requestId']).toBe(id);
    expect(textOf((await peer.response(1)).result)).toBe('done');
  });

  test('never sends a request of a handler that returns without awaiting it [CANCEL-09]', async () => {
    const forgets = tool('forgets', (_, context) => {
      void context.request(method).catch(() => {});
      return 'done';
    });
    const { peer } = await operateWarm({ tools: [forgets] });
    peer.send(toolCall(1, 'forgets'));
    expect(textOf((await peer.response(1)).result)).toBe('done');
    await peer.quiet();
    expect([peer.count(method), peer.count('notifications/cancelled')]).toEqual([0, 0]);
  });

  test('cancels a server request that lost a race, without an unhandled rejection [CANCEL-09]', async () => {
    const races = tool('races', async (_, context) => {
      const winner = await Promise.race([
        context.request(method, { n: 1 }),
        context.request(method, { n: 2 }),
      ]);
      return JSON.stringify(winner);
    });
    const { peer } = await operateWarm({ tools: [races] });
    peer.send(toolCall(1, 'races'));
    const first = await peer.request(method);
    const second = await peer.request(method);
    peer.answer(second, { won: 2 });
    expect(textOf((await peer.response(1)).result)).toBe('{"won":2}');
    const { params } = await peer.notification('notifications/cancelled');
    expect(params?.['requestId']).toBe(first.id);
  });

  test('cancels only the server request whose signal fired [CORR-09]', async () => {
    const abort = new AbortController();
    const errors: unknown[] = [];
    const both = tool('both', async (_, context) => {
      const doomed = context.request(method, { n: 1 }, { signal: abort.signal });
      const kept = context.request(method, { n: 2 });
      await doomed.catch((error: unknown) => errors.push(error));
      return JSON.stringify(await kept);
    });
    const { peer } = await operateWarm({ tools: [both] });
    peer.send(toolCall(1, 'both'));
    const doomed = await peer.request(method);
    const kept = await peer.request(method);
    abort.abort(new Error('not needed'));
    const { params } = await peer.notification('notifications/cancelled');
    expect(params).toEqual({ requestId: doomed.id, reason: 'not needed' });
    peer.answer(kept, { kept: true });
    expect(textOf((await peer.response(1)).result)).toBe('{"kept":true}');
    expect(errors).toMatchObject([{ code: 'CANCELLED' }]);
  });

  test('does not send a request whose signal has already fired [CORR-09]', async () => {
    const { ask, errors } = asking();
    const aborted = tool('aborted', async (_, context) => {
      await context
        .request(method, {}, { signal: AbortSignal.abort(new Error('never')) })
        .catch((error: unknown) => errors.push(error as (typeof errors)[number]));
      return 'done';
    });
    const { peer } = await operateWarm({ tools: [ask, aborted] });
    await peer.call('aborted');
    await peer.quiet();
    expect(errors).toMatchObject([{ code: 'CANCELLED' }]);
    expect(peer.count(method)).toBe(0);
  });
});

everywhere('an ended request', eachTransportAndStreams, () => {
  test('sends nothing for a handler after its request was cancelled [CANCEL-09]', async () => {
    const door = gate();
    const done = gate();
    const errors: unknown[] = [];
    const stubborn = tool('stubborn', async (_, context) => {
      await door.pass();
      context.progress(1, { total: 2 });
      await context.request(method).catch((error: unknown) => errors.push(error));
      await done.pass();
    });
    const { peer } = await operateWarm({ tools: [stubborn] });
    peer.send(toolCall(1, 'stubborn', {}, { progressToken: 't' }));
    await door.arrived();
    peer.send(cancelled(1));
    await peer.quiet();
    door.release();
    await done.arrived();
    await peer.quiet();
    expect(errors).toMatchObject([{ code: 'CANCELLED' }]);
    expect(peer.count('notifications/progress')).toBe(0);
    expect(peer.count(method)).toBe(0);
    done.release();
  });

  test('sends nothing for code that runs on after its handler returned [CANCEL-09] [PROGRESS-02]', async () => {
    const door = gate();
    const after = gate();
    const leaves = tool('leaves', (_, context) => {
      void door.pass().then(async () => {
        context.progress(1);
        await context.request(method).catch(() => {});
        await after.pass();
      });
      return 'gone';
    });
    const { peer } = await operateWarm({ tools: [leaves] });
    expect(textOf(await peer.call('leaves', {}, { progressToken: 1 }))).toBe('gone');
    door.release();
    await after.arrived();
    await peer.quiet();
    expect(peer.count('notifications/progress')).toBe(0);
    expect(peer.count(method)).toBe(0);
    after.release();
  });

  test('drops progress of a server request whose client request has ended [PROGRESS-04]', async () => {
    const { ask, progress } = asking();
    const { peer } = await operateWarm({ tools: [ask] });
    peer.send(toolCall(1, 'ask', { method, options: { progress: true } }));
    const { id } = await peer.request(method);
    peer.send(cancelled(1), progressed(id, 1));
    await peer.quiet();
    expect(progress).toEqual([]);
  });
});
