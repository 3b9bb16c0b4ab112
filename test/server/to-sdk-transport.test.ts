import { PassThrough } from 'node:stream';
import { createMcpServer, memory, stdio, toSdkTransport } from 'mcp-actors';
import type { SdkTransport } from 'mcp-actors';
import { gate, request, flush } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';

/** A client's transport over streams whose other ends the test holds. */
function overStreams() {
  const input = new PassThrough();
  const output = new PassThrough();
  const written: string[] = [];
  output.on('data', (chunk) => written.push(String(chunk)));
  return { ...listening(toSdkTransport({ input, output })), input, output, written };
}

function overMemory() {
  const { transport: server, peer } = memory();
  const session = createMcpServer({ name: 'under-test', version: '1' }).listen(server);
  return { ...listening(toSdkTransport(peer)), session };
}

function listening(transport: SdkTransport) {
  const messages: unknown[] = [];
  const errors: string[] = [];
  const closed = gate();
  let closings = 0;
  transport.onmessage = (message) => messages.push(message);
  transport.onerror = ({ message }) => errors.push(message);
  transport.onclose = () => {
    closings++;
    closed.release();
  };
  return { transport, messages, errors, closed, closings: () => closings };
}

describe.each([
  { over: 'memory', make: overMemory },
  { over: 'streams', make: overStreams },
])('toSdkTransport over $over', ({ make }) => {
  test('can be started only once', async () => {
    const { transport } = make();
    await expect(transport.send(request(1, 'ping'))).rejects.toThrow('not started');
    await transport.start();
    await expect(transport.start()).rejects.toThrow('already been started');
    await transport.close();
  });

  test('calls onclose once and rejects later sends', async () => {
    const { transport, closings, errors } = make();
    await transport.start();
    await transport.close();
    await transport.close();
    await expect(transport.send(request(1, 'ping'))).rejects.toThrow('closed');
    await expect(transport.start()).rejects.toThrow('closed');
    expect(closings()).toBe(1);
    expect(errors).toEqual([]);
  });

  test('can be closed before it is started', async () => {
    const { transport, closings } = make();
    await transport.close();
    expect(closings()).toBe(1);
  });
});

describe('toSdkTransport over memory', () => {
  test('ends the input of the session when the client closes', async () => {
    const { transport, session } = overMemory();
    await transport.start();
    await transport.close();
    expect(await session.closed).toEqual({ kind: 'input-ended' });
  });

  test('closes after the last output of the ended session', async () => {
    const { transport, session, messages, closed } = overMemory();
    await transport.start();
    await transport.send(request(1, 'ping'));
    session.shutdown('enough');
    await closed.pass();
    expect(messages).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
  });

  test('closes at the end of the session once a slow peer has read the output', async () => {
    const { transport: server, peer } = memory();
    const session = createMcpServer({ name: 'under-test', version: '1' }).listen(server);
    const { transport, messages, closed, closings } = listening(toSdkTransport(peer));
    await transport.start();
    peer.stopReading();
    await transport.send(request(1, 'ping'));
    session.shutdown('enough');
    await flush();
    expect(closings()).toBe(0);
    peer.resumeReading();
    await closed.pass();
    expect(messages).toHaveLength(1);
  });
});

describe('toSdkTransport over streams', () => {
  test('writes one line per message', async () => {
    const { transport, written } = overStreams();
    await transport.start();
    await transport.send(request(1, 'ping'));
    expect(written).toEqual(['{"jsonrpc":"2.0","id":1,"method":"ping"}\n']);
    await transport.close();
  });

  test('resolves a send when the server has read the message', async () => {
    const output = new PassThrough({ highWaterMark: 1 });
    const { transport } = listening(toSdkTransport({ input: new PassThrough(), output }));
    await transport.start();
    let sent = 0;
    const both = [1, 2].map((id) => transport.send(request(id, 'ping')).then(() => sent++));
    await flush();
    expect(sent).toBe(0);
    output.resume();
    await Promise.all(both);
    await transport.close();
  });

  test('delivers each message of a chunk in its own microtask', async () => {
    const { transport, input } = overStreams();
    const order: string[] = [];
    transport.onmessage = (message) => {
      const { id } = message as { id: number };
      order.push(`taken ${id}`);
      void Promise.resolve().then(() => order.push(`handled ${id}`));
    };
    await transport.start();
    input.write('{"id":1}\n{"id":2}\n');
    await flush();
    expect(order).toEqual(['taken 1', 'handled 1', 'taken 2', 'handled 2']);
    await transport.close();
  });

  test('reports invalid input and continues', async () => {
    const { transport, input, messages, errors } = overStreams();
    await transport.start();
    input.write('no JSON\n');
    input.write(Buffer.from([0xff, 0x0a]));
    input.write('7\n[{"jsonrpc":"2.0","id":1,"result":{}},8]\n');
    await flush();
    expect(errors).toEqual([
      expect.stringContaining('no JSON') as string,
      expect.stringContaining('UTF-8') as string,
      'A message must be an object, the server sent 7',
      'A message must be an object, the server sent 8',
    ]);
    expect(messages).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
    await transport.close();
  });

  test('reports a throwing listener and delivers later messages', async () => {
    const { transport, input, errors } = overStreams();
    let heard = 0;
    transport.onmessage = () => {
      heard++;
      throw new Error('a bug of the client’s');
    };
    await transport.start();
    input.write('{}\n{}\n');
    await flush();
    expect(heard).toBe(2);
    expect(errors).toEqual(['a bug of the client’s', 'a bug of the client’s']);
    await transport.close();
  });

  test('continues without unhandled rejections if onerror throws', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    const { transport, input, messages } = overStreams();
    transport.onerror = () => {
      throw new Error('no screen');
    };
    await transport.start();
    input.write('no JSON\n{}\n');
    await flush();
    expect(messages).toEqual([{}]);
    expect(unhandled).toEqual([]);
    await transport.close();
  });

  test('delivers nothing after the client closes', async () => {
    const { transport, input, messages } = overStreams();
    await transport.start();
    input.write('{"id":1}\n');
    await transport.close();
    await flush();
    expect(messages).toEqual([]);
  });

  test('closes when the output of the server ends, after an incomplete last line', async () => {
    const { transport, input, messages, closed } = overStreams();
    await transport.start();
    input.end('{"jsonrpc":"2.0","id":1,"result":{}}');
    await closed.pass();
    expect(messages).toHaveLength(1);
  });

  test('closes with the error of a failed stream', async () => {
    const { transport, output, errors, closed } = overStreams();
    await transport.start();
    output.destroy(new Error('write EPIPE'));
    await closed.pass();
    expect(errors).toEqual(['write EPIPE']);
  });

  test('serves a stdio() session', async () => {
    const [up, down] = [new PassThrough(), new PassThrough()];
    const session = createMcpServer({ name: 'under-test', version: '1' }).listen(
      stdio({ input: up, output: down }),
    );
    const { transport, messages } = listening(toSdkTransport({ input: down, output: up }));
    await transport.start();
    await transport.send(request(1, 'ping'));
    await flush();
    await transport.close();
    expect(await session.closed).toEqual({ kind: 'input-ended' });
    expect(messages).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
  });
});
