import { gate, request, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { eachByteTransport, eachTransportAndHttp, everywhere } from './everywhere.ts';
import { echo, operate, tool } from './serving.ts';

everywhere('ids', eachTransportAndHttp, ({ revision, transport }) => {
  test.each([1, 0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, '1', '0', '', 'a b', '✓'])(
    'echoes ids with type and value: %j [BASE-01] [BASE-04]',
    async (id) => {
      const { peer } = await operate({ tools: [echo] }, { revision, transport });
      peer.send(toolCall(id, 'echo'));
      expect((await peer.response(id)).id).toBe(id);
    },
  );

  test('distinguishes 1 and "1", 0, "0" and "" in flight [BASE-03]', async () => {
    const door = gate();
    const hold = tool('hold', async (args) => {
      await door.pass();
      return String(args['as']);
    });
    const { peer } = await operate({ tools: [hold] }, { revision, transport });
    const ids = [1, '1', 0, '0', ''];
    peer.send(...ids.map((id) => toolCall(id, 'hold', { as: typeof id + id })));
    await door.arrived(ids.length);
    door.release();
    for (const id of ids) {
      const { result } = await peer.response(id);
      expect(result).toEqual({ content: [{ type: 'text', text: typeof id + id }] });
    }
  });
});

everywhere('invalid ids', eachByteTransport, ({ revision, transport }) => {
  test.each([null, 1.5, 2 ** 53, true, {}, [], [1]].map((id) => ({ id })))(
    'rejects the id $id without echoing it, and runs nothing [BASE-01] [BASE-04]',
    async ({ id }) => {
      let runs = 0;
      const counted = tool('counted', () => `${++runs}`);
      const { peer } = await operate({ tools: [counted] }, { revision, transport });
      peer.send(toolCall(id, 'counted'));
      const refusal = await peer.response(undefined);
      expect(refusal.error?.code).toBe(-32600);
      expect(refusal).not.toHaveProperty('id');
      await peer.quiet();
      expect(runs).toBe(0);
    },
  );
});

everywhere('ids of both directions', eachTransportAndHttp, () => {
  test('lets the client use the id of one of our requests [BASE-02]', async () => {
    const { peer } = await operate({ tools: [echo] }, { capabilities: { roots: {} } });
    const asked = await peer.request('roots/list');
    peer.send(toolCall(asked.id, 'echo', { same: 'id' }));
    expect((await peer.response(asked.id)).result).toBeDefined();
    peer.answer(asked, { roots: [] });
    await peer.quiet();
    expect(peer.count('notifications/cancelled')).toBe(0);
  });
});

// The SDK's own transports over streams drop such a message.
everywhere('ids of both directions', eachByteTransport, () => {
  test('treats a message with a method as a request even if its id is one of ours [BASE-02]', async () => {
    const { peer, session } = await operate({ tools: [echo] }, { capabilities: { roots: {} } });
    const { id } = await peer.request('roots/list');
    peer.send({ ...request(id, 'no/such'), result: { roots: [] } });
    expect((await peer.error(id)).code).toBe(-32601);
    expect(session.state).toBe('initialized');
  });
});
