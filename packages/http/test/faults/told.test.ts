/** Timeouts by the endpoint's clock, and reports of handler bugs, in both eras. */
import { describe, expect, test } from 'vitest';
import { defineTool } from '../../../../src/index.ts';
import { TestClock, gate } from '../../../testing/src/index.ts';
import { request } from '../modern/modern-client.ts';
import { EventReader, begin, jsonOf } from '../raw-client.ts';
import { serveTools } from '../serving.ts';

/** Tool calls of each era. */
const eras: readonly (readonly [
  era: string,
  call: (url: URL, name: string) => Promise<Response>,
])[] = [
  ['legacy', async (url, name) => (await begin(url)).call(name, {}, 1)],
  ['modern', (url, name) => request(url, 'tools/call', { name, arguments: {} })],
];

describe.each(eras)('tool failures over HTTP, %s', (_, call) => {
  test('answers with an internal error and reports a result that JSON cannot represent [HTTP-18]', async () => {
    const big = defineTool({
      name: 'big',
      description: 'Has what JSON cannot hold',
      handler: () => ({ content: [], _meta: { big: 1n } }),
    });
    const { url, told } = await serveTools([big]);
    const { id, error } = await jsonOf(await call(url, 'big'));
    expect([id, error?.code]).toEqual([1, -32_603]);
    expect((await told('response.unserializable')).message).toContain('BigInt');
  });

  test("turns a slow call into a stream by the endpoint's clock [HTTP-18]", async () => {
    const held = gate();
    const hold = defineTool({
      name: 'hold',
      description: 'Waits',
      handler: async () => {
        await held.pass();
        return 'held';
      },
    });
    const clock = new TestClock();
    const { url } = await serveTools([hold], { clock, limits: { streamAfterMs: 5000 } });
    const answer = call(url, 'hold');
    await held.arrived();
    clock.increment(6000);
    const stream = await answer;
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    held.release();
    expect((await new EventReader(stream).message()).data).toMatchObject({ id: 1, result: {} });
  });
});
