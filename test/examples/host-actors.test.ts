/** A host's own actors in a session. */
import { createMcpServer, memory, sessionOf } from 'mcp-actors';
import type { OutboundFrame, RootsReport } from 'mcp-actors';
import {
  ScriptedPeer,
  cancelled,
  gate,
  initialize,
  initialized,
  toolCall,
} from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { createActor, waitFor } from 'xstate';
import {
  approvals,
  approve,
  desktop,
  line,
  overLine,
  rootsOf,
} from '../../examples/embedding/host-actors.ts';
import { echo, textOf, tool } from '../contract/serving.ts';

function wired() {
  const { transport, peer } = memory();
  return { transport, peer: new ScriptedPeer(peer) };
}

test("requests the roots from a host's actor instead of the client, and again on its request", async () => {
  const desk = createActor(desktop).start();
  const where = tool('where', async (_args, { roots }) => {
    const report = await roots();
    return report.roots.map(({ uri }) => uri).join(' ');
  });
  const server = createMcpServer({ name: 'desk', version: '1', tools: [where] });
  const logic = server.sessionLogic.provide(rootsOf(desk));
  const { transport, peer } = wired();
  const reports: RootsReport[] = [];
  const onRootsUpdated = (report: RootsReport) => reports.push(report);
  const session = createActor(logic, { input: { transport, onRootsUpdated } }).start();
  await peer.handshake();
  expect(textOf(await peer.call('where'))).toBe('file:///first');
  desk.send({ type: 'folder.opened', uri: 'file:///second' });
  session.send({ type: 'roots.changed' });
  await waitFor(session, ({ context }) => context.report?.generation === 2);
  expect(textOf(await peer.call('where'))).toBe('file:///first file:///second');
  expect(reports.map(({ roots }) => roots.length)).toEqual([1, 2]);
  expect(peer.count('roots/list')).toBe(0);
  await sessionOf(session)[Symbol.asyncDispose]();
});

describe("a host's actor behind a tool", () => {
  async function serveWithDesk() {
    const desk = createActor(approvals).start();
    const server = createMcpServer({ name: 'desk', version: '1', tools: [approve(desk)] });
    const { transport, peer } = wired();
    const session = createActor(server.sessionLogic, { input: { transport } }).start();
    await peer.handshake();
    return { desk, peer, session };
  }

  test('is called, and its answer is awaited', async () => {
    const { desk, peer, session } = await serveWithDesk();
    peer.send(toolCall(1, 'approve', { question: 'Deploy?' }));
    await waitFor(desk, ({ context }) => context.waiting.includes('Deploy?'));
    desk.send({ type: 'decided', question: 'Deploy?', yes: true });
    expect(textOf((await peer.response(1)).result ?? {})).toBe('approved');
    session.stop();
  });

  test('is notified when the call is cancelled or the session stopped', async () => {
    const { desk, peer, session } = await serveWithDesk();
    peer.send(toolCall(1, 'approve', { question: 'One?' }));
    peer.send(toolCall(2, 'approve', { question: 'Two?' }));
    await waitFor(desk, ({ context }) => context.waiting.length === 2);
    peer.send(cancelled(1));
    await waitFor(desk, ({ context }) => context.waiting.join() === 'Two?');
    session.stop();
    await waitFor(desk, ({ context }) => context.waiting.length === 0);
    expect(peer.received).toHaveLength(1);
  });
});

describe("a host's actor as the connection", () => {
  function connected() {
    const connection = createActor(line).start();
    const heard: OutboundFrame[] = [];
    const answered = gate();
    connection.on('heard', ({ frame }) => {
      heard.push(frame);
      if ('result' in frame && frame.id === 1) answered.release();
    });
    const server = createMcpServer({ name: 'lined', version: '1', tools: [echo] });
    const input = { transport: overLine(connection) };
    const session = sessionOf(createActor(server.sessionLogic, { input }).start());
    return { connection, heard, answered, session };
  }

  test("provides the session's input and receives its output", async () => {
    const { connection, heard, answered, session } = connected();
    const passed: unknown[] = [];
    session.traffic$.subscribe(({ direction, kind }) => passed.push(`${direction} ${kind}`));
    for (const message of [initialize(0), initialized, toolCall(1, 'echo', { n: 1 })]) {
      connection.send({ type: 'say', message });
    }
    await answered.pass();
    expect(heard).toMatchObject([{ id: 0 }, { result: { content: [{ text: '{"n":1}' }] } }]);
    expect(passed).toEqual([
      'in request',
      'out response',
      'in notification',
      'in request',
      'out response',
    ]);
    session.shutdown('enough');
    expect(await session.closed).toEqual({ kind: 'shutdown', reason: 'enough' });
  });

  test('ends the session when it ends', async () => {
    const { connection, session } = connected();
    connection.stop();
    expect(await session.closed).toEqual({ kind: 'input-ended' });
  });
});
