import { createMcpServer } from 'mcp-actors';
import {
  ErrorAnswer,
  RecordedFacts,
  ScriptedPeer,
  scriptedConversation,
  gate,
  initialize,
  request,
  flush,
} from 'mcp-actors/testing';
import type { FrameCheck } from '../../packages/testing/src/peer.ts';
import type { Wire } from '../../packages/testing/src/peer.ts';
import { describe, expect, test } from 'vitest';

/** A wire without a session; the test provides its input. */
function wire() {
  const sent: string[] = [];
  let listen: (frame: unknown) => void = () => {};
  const end: Wire = {
    sendRaw: (chunk) => sent.push(String(chunk)),
    received$: { subscribe: (listener) => (listen = listener) },
    end: () => {},
  };
  return { end, sent, receive: (frame: unknown) => listen(frame) };
}

const pong = (id: unknown) => ({ jsonrpc: '2.0', id, result: {} });

describe('a scripted peer', () => {
  test('returns messages by predicate, in any order, once each', async () => {
    const { end, receive } = wire();
    const peer = new ScriptedPeer(end);
    const early = peer.response(2);
    receive(pong(1));
    receive({ jsonrpc: '2.0', id: 's-1', method: 'roots/list' });
    receive(pong('1'));
    receive(pong(2));
    receive({ jsonrpc: '2.0', id: 's-2', method: 'roots/list' });
    expect((await early).id).toBe(2);
    expect((await peer.request('roots/list')).id).toBe('s-1');
    expect((await peer.response('1')).id).toBe('1');
    expect((await peer.request('roots/list')).id).toBe('s-2');
    expect((await peer.response(1)).id).toBe(1);
    expect(peer.received).toHaveLength(5);
    const gone = peer.response(1);
    peer.close('the test is over');
    await expect(gone).rejects.toThrow('No response to 1 came: the test is over');
  });

  test('sends several messages in one chunk', () => {
    const { end, sent } = wire();
    new ScriptedPeer(end).send(request(1, 'ping'), request(2, 'ping'));
    expect(sent).toEqual([
      '{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n',
    ]);
  });

  test('matches a result to its request, even if that was sent as bytes in pieces', () => {
    const { end, receive } = wire();
    const answered: (string | undefined)[] = [];
    const check: FrameCheck = (_frame, method) => {
      answered.push(method);
      return undefined;
    };
    const peer = new ScriptedPeer(end, { check });
    const bytes = new TextEncoder().encode(
      `\uFEFF${JSON.stringify(request('ü', 'tools/list'))}\r\nno JSON\n[${JSON.stringify(request(2, 'ping'))}]\n`,
    );
    for (const byte of bytes) peer.sendRaw(Uint8Array.of(byte));
    peer.sendRaw(JSON.stringify(request(3, 'prompts/list')));
    peer.end();
    for (const id of ['ü', 2, 3, 3, '3']) receive(pong(id));
    expect(answered).toEqual(['tools/list', 'ping', 'prompts/list', undefined, undefined]);
  });

  test('rejects waiting reads when the session ends, listing what was received', async () => {
    const { peer, session } = scriptedConversation(createMcpServer({ name: 'ends', version: '1' }));
    await peer.handshake();
    const waiting = peer.request('roots/list');
    peer.end();
    await session.closed;
    await expect(waiting).rejects.toThrow(/No request roots\/list came.*input-ended/);
    await expect(waiting).rejects.toThrow('protocolVersion');
  });

  test('returns messages flushed at the end to later reads', async () => {
    const { peer, session } = scriptedConversation(createMcpServer({ name: 'ends', version: '1' }));
    peer.send(initialize(1));
    peer.end();
    await session.closed;
    expect((await peer.response(1)).result).toBeDefined();
  });

  test('checks every frame against the schema, matching responses to requests, even in a batch', () => {
    const { end, receive } = wire();
    const asked: unknown[] = [];
    const peer = new ScriptedPeer(end, {
      check: (_, answered) => {
        asked.push(answered);
        return answered === 'ping' ? 'pings are wrong' : undefined;
      },
    });
    peer.send(request(1, 'ping'), [request('1', 'tools/list')]);
    receive([pong('1'), pong(1)]);
    receive({ jsonrpc: '2.0', method: 'notifications/progress' });
    expect(asked).toEqual(['tools/list', 'ping', undefined]);
    expect(peer.violations).toEqual([expect.stringContaining('pings are wrong')]);
  });

  test("rejects with the session's error for an error response", async () => {
    const { peer, session } = scriptedConversation(
      createMcpServer({ name: 'refuses', version: '1' }),
    );
    await expect(peer.ask('tools/list')).rejects.toBeInstanceOf(ErrorAnswer);
    await expect(peer.ask('tools/list')).rejects.toThrow('-32600');
    await session[Symbol.asyncDispose]();
  });
});

describe('a gate', () => {
  test('holds callers until it is opened, FIFO', async () => {
    const door = gate();
    const passed: number[] = [];
    for (const n of [1, 2, 3]) void door.pass().then(() => passed.push(n));
    await door.arrived(3);
    expect(door.arrivals).toBe(3);
    await flush();
    expect(passed).toEqual([]);
    door.release(2);
    await flush();
    expect(passed).toEqual([1, 2]);
    door.release();
    await door.pass();
    expect(passed).toEqual([1, 2, 3]);
  });

  test('lets as many callers pass as it was opened for, even later ones', async () => {
    const door = gate();
    door.release(1);
    await door.pass();
    let passed = false;
    void door.pass().then(() => (passed = true));
    await flush();
    expect(passed).toBe(false);
  });

  test('rejects aborted callers, and reserves no place for them', async () => {
    const door = gate();
    const abort = new AbortController();
    const aborted = door.pass(abort.signal);
    abort.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    await expect(door.pass(AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
    const patient = door.pass();
    door.release(1);
    await patient;
  });
});

describe('recorded facts', () => {
  const fact = (message: string) => ({ level: 'info', name: 'session.state', message }) as const;

  test('are returned once each, awaited, and kept', async () => {
    const facts = new RecordedFacts();
    facts.report(fact('one'));
    const [first, second] = [facts.next('session.state'), facts.next('session.state')];
    facts.report({ ...fact('other'), name: 'output.blocked' });
    facts.report(fact('two'));
    expect([(await first).message, (await second).message]).toEqual(['one', 'two']);
    expect(facts.of('session.state')).toHaveLength(2);
    expect(facts.all).toHaveLength(3);
  });

  test('that never arrive reject the wait when the session ends', async () => {
    const { facts, session } = scriptedConversation(
      createMcpServer({ name: 'ends', version: '1' }),
    );
    const waiting = facts.next('response.late');
    session.shutdown('now');
    await expect(waiting).rejects.toThrow('No fact response.late came');
  });
});
