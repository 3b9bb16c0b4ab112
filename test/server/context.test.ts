/** The handler's context as handlers use it. */
import { cancelled, gate, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { operate, operateWarm, textOf, tool } from '../contract/serving.ts';

test('supports destructuring of the handler context', async () => {
  const apart = tool('apart', async (_, { roots, progress, request, sample, client }) => {
    progress(1);
    const { status } = await roots();
    const failures = await Promise.allSettled([
      request('roots/list'),
      sample({ messages: [], maxTokens: 1 }),
    ]);
    return JSON.stringify([client.info.name, status, failures.map((each) => each.status)]);
  });
  const { peer } = await operate({ tools: [apart] });
  const [, status, failures] = JSON.parse(textOf(await peer.call('apart')));
  expect(status).toBe('undeclared');
  expect(failures).toEqual(['rejected', 'rejected']);
});

test.each([NaN, -1])('rejects context.roots with timeoutMs %d', async (ms) => {
  const waiting = tool('waiting', async (_, { roots }) => {
    const { status } = await roots({ timeoutMs: 0 });
    await expect(async () => await roots({ timeoutMs: ms })).rejects.toThrow(
      new RangeError(`timeoutMs must be a number of milliseconds, 0 or more, got ${ms}`),
    );
    return status;
  });
  const { peer } = await operate({ tools: [waiting] });
  expect(textOf(await peer.call('waiting'))).toBe('undeclared');
});

test('rejects roots/list from a handler in favor of context.roots', async () => {
  const listing = tool('listing', async (_, { roots, request }) => {
    await expect(request('roots/list')).rejects.toThrow(
      new TypeError(
        '"roots/list" is sent by the session: use context.roots(), or pass the option "probe" to test a client',
      ),
    );
    await expect(request('roots/list', undefined, { type: 'object' })).rejects.toThrow(TypeError);
    const probed = await request('roots/list', undefined, { probe: true });
    return JSON.stringify([(await roots()).roots, probed]);
  });
  const { peer } = await operateWarm({ tools: [listing] }, { capabilities: { roots: {} } });
  peer.answer(await peer.request('roots/list'), { roots: [{ uri: 'file:///a' }] });
  peer.send(toolCall(1, 'listing'));
  peer.answer(await peer.request('roots/list'), { roots: [] });
  expect(textOf((await peer.response(1)).result)).toBe('[[{"uri":"file:///a"}],{"roots":[]}]');
  expect(peer.count('roots/list')).toBe(2);
});

test('fails pending and later requests of a cancelled call with the cancellation as cause', async () => {
  const method = 'custom/question';
  const failures: { [asked: string]: unknown } = {};
  const done = gate();
  const asking = tool('asking', async (_, { request, signal, roots }) => {
    const note = (asked: string) => (error: unknown) => void (failures[asked] = error);
    await Promise.all([request(method).catch(note('open')), roots().catch(note('roots'))]);
    await request(method).catch(note('later'));
    failures['reason'] = signal.reason;
    await done.pass();
    return '';
  });
  const { peer } = await operate({ tools: [asking] }, { capabilities: { roots: {} } });
  peer.send(toolCall(1, 'asking'));
  const { id } = await peer.request(method);
  peer.send(cancelled(1, 'changed my mind'));
  await done.arrived();
  const { reason, ...errors } = failures;
  expect(errors).toMatchObject({
    open: { code: 'CANCELLED', request: { id, method } },
    roots: { code: 'CANCELLED' },
    later: { code: 'CANCELLED', request: { method, elapsedMs: 0 } },
  });
  for (const error of Object.values(errors)) expect(error).toHaveProperty('cause', reason);
  done.release();
});
