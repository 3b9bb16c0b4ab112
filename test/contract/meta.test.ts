import { notification, request, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { asking } from './asking.ts';
import { eachByteTransport, eachTransportAndHttp, everywhere } from './everywhere.ts';
import { echo, operate, operateWarm, textOf } from './serving.ts';

/**
 * Keys of every form in the specification, including reserved and invalid ones, with every kind of
 * value.
 */
const odd = {
  '': '',
  colour: null,
  'com.example/trace': { deep: [1, { er: true }] },
  'io.modelcontextprotocol/nobody-knows-this': 7,
  'dev.mcp/also-reserved': [],
  'no.slash.': false,
  '/': 1e300,
  'ü 🥊': 'ü 🥊',
};

const method = 'custom/question';

everywhere('unknown keys of _meta', eachTransportAndHttp, () => {
  test('does not affect a request, a notification or an answer [BASE-12]', async () => {
    const { ask } = asking();
    const { peer } = await operateWarm({ tools: [ask] }, { capabilities: { roots: {} } });
    peer.answer(await peer.request('roots/list'), { roots: [], _meta: odd });
    peer.send(
      notification('notifications/roots/list_changed', { _meta: odd }),
      toolCall(1, 'echo', { a: 1 }, odd),
      request(2, 'tools/list', { _meta: odd }),
      request(3, 'ping', { _meta: odd }),
      toolCall(4, 'ask', { method }, odd),
    );
    peer.answer(await peer.request('roots/list'), { roots: [], _meta: odd });
    expect(textOf((await peer.response(1)).result)).toBe('{"a":1}');
    expect((await peer.response(2)).result).toHaveProperty('tools');
    expect((await peer.response(3)).result).toEqual({});
    peer.answer(await peer.request(method), { n: 1, _meta: odd });
    expect(JSON.parse(textOf((await peer.response(4)).result))).toEqual({ n: 1, _meta: odd });
  });
});

// The SDK's own transports over streams drop such a message.
everywhere('a malformed _meta', eachByteTransport, () => {
  test.each([
    null,
    7,
    'text',
    [],
    [1],
    { progressToken: null },
    { progressToken: { of: 'nobody' } },
    { 'io.modelcontextprotocol/related-task': 'nothing' },
    { 'io.modelcontextprotocol/related-task': { taskId: 7 } },
    { traceparent: 7 },
  ])('is ignored if malformed: %j [BASE-13]', async (_meta) => {
    const { peer } = await operate({ tools: [echo] });
    peer.send(
      notification('notifications/initialized', { _meta }),
      request(1, 'tools/call', { name: 'echo', arguments: { a: 1 }, _meta }),
      request(2, 'tools/list', { _meta }),
      request(3, 'ping', { _meta }),
    );
    expect(textOf((await peer.response(1)).result)).toBe('{"a":1}');
    expect((await peer.response(2)).result).toHaveProperty('tools');
    expect((await peer.response(3)).result).toEqual({});
  });
});
