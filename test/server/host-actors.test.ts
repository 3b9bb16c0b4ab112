/** A host's own actors in a session's places: where its roots come from, who answers its tools, what it is connected to. */
import { classify, createMcpServer, memory, rootsMachine, sessionOf } from 'mcp-actors';
import type {
  AskInput,
  AskOutcome,
  OutboundFrame,
  ReaderEvent,
  ReaderInput,
  RootsReport,
  Transport,
  WriterEvent,
  WriterInput,
} from 'mcp-actors';
import { ScriptedPeer, gate, initialize, initialized, toolCall } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { assign, createActor, emit, fromCallback, fromPromise, setup, waitFor } from 'xstate';
import { echo, textOf, tool } from '../contract/serving.ts';

const where = tool('where', async (_args, { roots }) => {
  const report = await roots();
  return report.roots.map(({ uri }) => uri).join(' ');
});

describe('a host’s actor as the source of roots', () => {
  const desktop = setup({
    types: {
      context: {} as { folders: readonly string[] },
      events: {} as { type: 'folder.opened'; uri: string },
    },
  }).createMachine({
    context: { folders: ['file:///first'] },
    on: {
      'folder.opened': {
        actions: assign({ folders: ({ context, event }) => [...context.folders, event.uri] }),
      },
    },
  });

  test('is asked instead of the client, and again when the host says so', async () => {
    const desk = createActor(desktop).start();
    const ask = fromPromise<AskOutcome, AskInput>(() => {
      const { folders } = desk.getSnapshot().context;
      return Promise.resolve({ kind: 'answered', roots: folders.map((uri) => ({ uri })) });
    });
    const roots = rootsMachine.provide({ actors: { ask }, guards: { isDeclared: () => true } });
    const server = createMcpServer({ name: 'desk', version: '1', tools: [where] });
    const logic = server.sessionLogic.provide({ actors: { roots } });

    const { transport, peer: wire } = memory();
    const peer = new ScriptedPeer(wire);
    const reports: RootsReport[] = [];
    const onRootsUpdated = (report: RootsReport) => reports.push(report);
    const session = createActor(logic, { input: { transport, onRootsUpdated } }).start();
    await peer.handshake();
    expect(textOf(await peer.call('where'))).toBe('file:///first');
    desk.send({ type: 'folder.opened', uri: 'file:///second' });
    session.send({ type: 'roots.changed' });
    await waitFor(session, ({ context }) => context.report?.generation === 2);
    expect(textOf(await peer.call('where'))).toBe('file:///first file:///second');
    expect(reports.map(({ roots: list }) => list.length)).toEqual([1, 2]);
    expect(peer.count('roots/list')).toBe(0);
    await sessionOf(session)[Symbol.asyncDispose]();
  });
});

describe('a host’s actor behind a tool', () => {
  const approvals = setup({
    types: {
      context: {} as {
        waiting: readonly string[];
        answers: { readonly [question: string]: boolean };
      },
      events: {} as
        | { type: 'asked'; question: string }
        | { type: 'withdrawn'; question: string }
        | { type: 'decided'; question: string; yes: boolean },
    },
  }).createMachine({
    context: { waiting: [], answers: {} },
    on: {
      asked: {
        actions: assign({ waiting: ({ context, event }) => [...context.waiting, event.question] }),
      },
      withdrawn: {
        actions: assign({
          waiting: ({ context, event }) =>
            context.waiting.filter((each) => each !== event.question),
        }),
      },
      decided: {
        actions: assign({
          waiting: ({ context, event }) =>
            context.waiting.filter((each) => each !== event.question),
          answers: ({ context, event }) => ({ ...context.answers, [event.question]: event.yes }),
        }),
      },
    },
  });

  async function serveWithDesk() {
    const desk = createActor(approvals).start();
    const approve = tool('approve', async ({ question }, { signal }) => {
      const asked = String(question);
      desk.send({ type: 'asked', question: asked });
      try {
        const { context } = await waitFor(desk, (now) => asked in now.context.answers, { signal });
        return context.answers[asked] ? 'approved' : 'refused';
      } finally {
        desk.send({ type: 'withdrawn', question: asked });
      }
    });
    const server = createMcpServer({ name: 'approving', version: '1', tools: [approve] });
    const { transport, peer: wire } = memory();
    const peer = new ScriptedPeer(wire);
    const session = createActor(server.sessionLogic, { input: { transport } }).start();
    await peer.handshake();
    return { desk, peer, session };
  }

  test('is asked, and its answer is waited for', async () => {
    const { desk, peer, session } = await serveWithDesk();
    peer.send(toolCall(1, 'approve', { question: 'Deploy?' }));
    await waitFor(desk, ({ context }) => context.waiting.includes('Deploy?'));
    desk.send({ type: 'decided', question: 'Deploy?', yes: true });
    expect(textOf((await peer.response(1)).result ?? {})).toBe('approved');
    session.stop();
  });

  test('hears that nobody waits any more: the call was cancelled, the session was stopped', async () => {
    const { desk, peer, session } = await serveWithDesk();
    peer.send(
      toolCall(1, 'approve', { question: 'One?' }),
      toolCall(2, 'approve', { question: 'Two?' }),
    );
    await waitFor(desk, ({ context }) => context.waiting.length === 2);
    peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await waitFor(desk, ({ context }) => context.waiting.join() === 'Two?');
    session.stop();
    await waitFor(desk, ({ context }) => context.waiting.length === 0);
    expect(peer.received).toHaveLength(1);
  });
});

describe('a host’s actor as the connection', () => {
  test('gives the session its input and takes its output', async () => {
    const heard: OutboundFrame[] = [];
    const answered = gate();
    const wire = setup({
      types: {
        events: {} as { type: 'say'; message: unknown } | { type: 'hear'; frame: OutboundFrame },
        emitted: {} as { type: 'said'; message: unknown } | { type: 'heard'; frame: OutboundFrame },
      },
    }).createMachine({
      on: {
        say: { actions: emit(({ event }) => ({ type: 'said', message: event.message })) },
        hear: { actions: emit(({ event }) => ({ type: 'heard', frame: event.frame })) },
      },
    });
    const connection = createActor(wire).start();
    connection.on('heard', ({ frame }) => {
      heard.push(frame);
      if ('result' in frame && frame.id === 1) answered.release();
    });
    const transport: Transport = () => ({
      reader: fromCallback<ReaderEvent, ReaderInput>(({ input: { router } }) => {
        const said = connection.on('said', ({ message }) =>
          router.send({ type: 'frames.received', frames: [classify(message)] }),
        );
        return () => said.unsubscribe();
      }),
      writer: fromCallback<WriterEvent, WriterInput>(({ input: { session }, receive }) => {
        receive((event) => {
          if (event.type === 'output.flush') return session.send({ type: 'output.flushed' });
          for (const frame of event.frames) connection.send({ type: 'hear', frame });
        });
      }),
    });
    const server = createMcpServer({ name: 'lined', version: '1', tools: [echo] });
    const session = createActor(server.sessionLogic, { input: { transport } }).start();
    const passed: unknown[] = [];
    sessionOf(session).traffic$.subscribe(({ direction, kind }) =>
      passed.push(`${direction} ${kind}`),
    );
    for (const message of [initialize(0), initialized, toolCall(1, 'echo', { n: 1 })]) {
      connection.send({ type: 'say', message });
    }
    await answered.pass();
    expect(heard).toMatchObject([{ id: 0 }, { id: 1, result: { content: [{ text: '{"n":1}' }] } }]);
    expect(passed).toEqual([
      'in request',
      'out response',
      'in notification',
      'in request',
      'out response',
    ]);
    session.send({ type: 'session.shutdown', reason: 'enough' });
    expect(await sessionOf(session).closed).toEqual({ kind: 'shutdown', reason: 'enough' });
  });
});
