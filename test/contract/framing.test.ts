import { request, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { eachByteTransport, everywhere } from './everywhere.ts';
import { echo, operate, serve, textOf } from './serving.ts';

const bytes = new TextEncoder();
const lineOf = (message: unknown) => `${JSON.stringify(message)}\n`;

everywhere('framing', eachByteTransport, ({ revision, transport }) => {
  const operating = () => operate({ tools: [echo] }, { revision, transport });

  test('reads input byte by byte, with characters split [STDIO-01]', async () => {
    const { peer } = await operating();
    const text = 'é ✓ 𝄞 \u2028 \u2029 \u0000';
    for (const byte of bytes.encode(lineOf(toolCall(1, 'echo', { text })))) {
      peer.sendRaw(Uint8Array.of(byte));
    }
    expect(JSON.parse(textOf((await peer.response(1)).result))).toEqual({ text });
  });

  test('reads thousands of messages in one chunk and answers in order [STDIO-01]', async () => {
    const { peer } = await operating();
    const ids = Array.from({ length: 3000 }, (_, at) => at);
    const before = peer.received.length;
    peer.send(...ids.map((id) => request(id, 'ping')));
    await peer.response(2999);
    expect(peer.received.slice(before)).toEqual(
      ids.map((id) => ({ jsonrpc: '2.0', id, result: {} })),
    );
  });

  test('accepts CRLF, a byte order mark and blank lines [STDIO-02]', async () => {
    const { peer } = await operating();
    const before = peer.received.length;
    peer.sendRaw(`\n\r\n  \t\n\uFEFF${JSON.stringify(request(1, 'ping'))}\r\n\n\uFEFF\n`);
    peer.sendRaw('\r\n');
    await peer.response(1);
    await peer.quiet();
    expect(peer.received).toHaveLength(before + 2);
  });

  test.each([
    '{',
    'hello',
    '{"jsonrpc":"2.0","id":1,"method":"ping"',
    "{'jsonrpc':'2.0'}",
    '{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"ping"}',
    '\u0000',
    'NaN',
  ])('answers %j with -32700 without an id, and continues [STDIO-03] [BASE-04]', async (line) => {
    const { peer, facts } = await operating();
    peer.sendRaw(`${line}\n${JSON.stringify(request('next', 'ping'))}\n`);
    const refusal = await peer.response(undefined);
    expect(refusal.error?.code).toBe(-32700);
    expect(refusal).not.toHaveProperty('id');
    expect((await peer.response('next')).result).toEqual({});
    await facts.next('frame.invalid');
  });

  test('answers a line that is not UTF-8 with -32700, and only that line [STDIO-03]', async () => {
    const { peer } = await operating();
    const broken = [...bytes.encode('{"jsonrpc":"2.0","id":5,"method":"'), 0xff, 0xc0, 0x0a];
    peer.sendRaw(
      Uint8Array.from([
        ...bytes.encode(lineOf(request(1, 'ping'))),
        ...broken,
        ...bytes.encode(lineOf(request(2, 'ping'))),
      ]),
    );
    expect((await peer.error(undefined)).code).toBe(-32700);
    await peer.response(1);
    await peer.response(2);
  });

  test('answers the last line without a line feed [STDIO-08]', async () => {
    const { peer } = await operating();
    peer.sendRaw(JSON.stringify(request(1, 'ping')));
    peer.end();
    expect((await peer.response(1)).result).toEqual({});
  });

  test('writes no line feed inside a message [STDIO-07]', async () => {
    const { peer } = await operating();
    const result = await peer.call('echo', { text: 'one\ntwo\r\nthree\u2028' });
    expect(JSON.parse(textOf(result))).toEqual({ text: 'one\ntwo\r\nthree\u2028' });
  });
});

everywhere('JSON that is not a message', eachByteTransport, () => {
  const noMessages: readonly [message: string, id: unknown, code?: number][] = [
    ['1', undefined],
    ['null', undefined],
    ['"ping"', undefined],
    ['true', undefined],
    ['{}', undefined],
    ['{"jsonrpc":"2.0"}', undefined],
    ['{"jsonrpc":"2.0","id":7}', 7],
    ['{"jsonrpc":"2.0","id":"","method":1}', ''],
    ['{"jsonrpc":"2.0","id":7,"method":null}', 7],
    ['{"jsonrpc":"1.0","id":7,"method":"ping"}', 7],
    ['{"id":7,"method":"ping"}', 7],
    ['{"jsonrpc":2,"id":"x","method":"ping"}', 'x'],
    ['{"jsonrpc":"2.0","id":7,"method":"ping","params":7}', 7],
    ['{"jsonrpc":"2.0","id":7,"method":"ping","params":"all"}', 7],
    ['{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', 7, -32602],
    ['{"JSONRPC":"2.0","ID":7,"Method":"ping"}', undefined],
  ];

  test.each(noMessages)(
    'rejects %s with its id if readable, and continues the session [STDIO-04] [BASE-04]',
    async (line, id, code = -32600) => {
      const { peer } = await operate({ tools: [echo] });
      peer.sendRaw(`${line}\n`);
      const refusal = await peer.response(id as string | number | undefined);
      expect(refusal.error?.code).toBe(code);
      if (id === undefined) expect(refusal).not.toHaveProperty('id');
      await peer.ask('ping');
    },
  );

  test('rejects an empty method as not found [STDIO-04] [BASE-06]', async () => {
    const { peer } = await operate({ tools: [echo] });
    peer.send(request(1, ''));
    expect((await peer.error(1)).code).toBe(-32601);
  });

  test.each([
    { jsonrpc: '2.0', method: 'no/such' },
    { jsonrpc: '2.0', method: 'tools/call', params: [1] },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: 'all' },
    { jsonrpc: '2.0', method: 'notifications/progress' },
    { jsonrpc: '2.0', method: '' },
  ])('does not answer the notification $method $params [BASE-05]', async (message) => {
    const { peer } = await operate({ tools: [echo] });
    const before = peer.received.length;
    peer.send(message);
    await peer.quiet();
    expect(peer.received).toHaveLength(before + 1);
  });
});

everywhere('a key __proto__', eachByteTransport, () => {
  test('passes U+2028 and U+2029 through at any position [STDIO-06]', async () => {
    const { peer } = serve({ tools: [echo] });
    await peer.handshake();
    const evil = '"__proto__":{"polluted":true,"jsonrpc":"2.0","method":"ping","id":1}';
    peer.sendRaw(`{${evil}}\n`);
    expect((await peer.error(undefined)).code).toBe(-32600);
    peer.sendRaw(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call",${evil},"params":{"name":"echo",${evil},"arguments":{${evil}},"_meta":{${evil}}}}\n`,
    );
    expect(textOf((await peer.response(1)).result)).toContain('"__proto__"');
    peer.sendRaw(`{"jsonrpc":"2.0","id":2,"method":"__proto__"}\n`);
    expect((await peer.error(2)).code).toBe(-32601);
    peer.send(toolCall(3, '__proto__'), toolCall(4, 'constructor'));
    expect((await peer.error(3)).code).toBe(-32602);
    expect((await peer.error(4)).code).toBe(-32602);
    expect({}).not.toHaveProperty('polluted');
  });
});
