import { request, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { eachByteTransport, everywhere } from './everywhere.ts';
import { echo, operate, textOf } from './serving.ts';

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

everywhere('maxLineBytes', eachByteTransport, ({ transport }) => {
  const limits = { maxLineBytes: 1000, maxDepth: 20 };
  const operating = () => operate({ tools: [echo] }, { transport, limits });
  const padded = (bytes: number, id: number) => {
    const empty = JSON.stringify(toolCall(id, 'echo', { pad: '' }));
    return JSON.stringify(toolCall(id, 'echo', { pad: 'x'.repeat(bytes - empty.length) }));
  };

  test('serves a line of exactly maxLineBytes [STDIO-05]', async () => {
    const { peer } = await operating();
    peer.sendRaw(`${padded(1000, 1)}\n`);
    expect(textOf((await peer.response(1)).result)).toContain('xxx');
  });

  test('rejects a line of one byte more, and serves the next [STDIO-05]', async () => {
    const { peer } = await operating();
    peer.sendRaw(`${padded(1001, 1)}\n${JSON.stringify(request(2, 'ping'))}\n`);
    const { code, message } = await peer.error(undefined);
    expect(code).toBe(-32600);
    expect(message).toContain('1000 bytes');
    await peer.response(2);
  });

  test('rejects an endless line once, before its end, and skips the rest [STDIO-05]', async () => {
    const { peer } = await operating();
    peer.sendRaw('x'.repeat(600));
    peer.sendRaw('x'.repeat(600));
    expect((await peer.error(undefined)).message).toContain('1000 bytes');
    for (let chunk = 0; chunk < 50; chunk++) peer.sendRaw('x'.repeat(1000));
    peer.sendRaw(`"}\n${JSON.stringify(request(2, 'ping'))}\n`);
    await peer.response(2);
    const refusals = peer.received.filter((frame) => !Object.hasOwn(frame as object, 'id'));
    expect(refusals).toHaveLength(1);
  });

  test('counts bytes, not characters [STDIO-05]', async () => {
    const { peer } = await operating();
    peer.send(toolCall(1, 'echo', { pad: '✓'.repeat(400) }));
    expect((await peer.error(undefined)).code).toBe(-32600);
  });

  test('rejects nesting beyond maxDepth, ignoring brackets in strings [STDIO-05]', async () => {
    const { peer } = await operating();
    peer.sendRaw(`${nested(21)}\n`);
    expect((await peer.error(undefined)).message).toContain('20 levels');
    peer.send(toolCall(1, 'echo', { text: `${nested(100)}\\"${nested(100)}` }));
    expect(textOf((await peer.response(1)).result)).toContain('[[[[');
    peer.sendRaw(
      `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":${nested(17)}}}}\n`,
    );
    expect(textOf((await peer.response(2)).result)).toContain('[[[[');
    peer.sendRaw(
      `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"a":${nested(18)}}}}\n`,
    );
    expect((await peer.error(undefined)).message).toContain('20 levels');
  });

  test('survives a hundred thousand brackets without a stack overflow [STDIO-05]', async () => {
    const { peer } = await operate({ tools: [echo] }, { transport });
    peer.sendRaw(`${nested(100_000)}\n${'{"a":'.repeat(100_000)}\n`);
    expect((await peer.error(undefined)).message).toContain('256 levels');
    expect((await peer.error(undefined)).message).toContain('256 levels');
    await peer.ask('ping');
  });
});

test('does not echo a whole hostile line in an error [STDIO-03]', async () => {
  const { peer, facts } = await operate({ tools: [echo] });
  const secret = 'x'.repeat(100_000);
  peer.sendRaw(`${secret}\n`);
  peer.send({ jsonrpc: secret }, request(1, secret), toolCall(2, secret), { jsonrpc: '2.0' });
  await peer.response(1);
  await peer.response(2);
  await peer.quiet();
  for (const frame of peer.received) expect(JSON.stringify(frame).length).toBeLessThan(1000);
  for (const { message } of facts.all) expect(message.length).toBeLessThan(1000);
});
