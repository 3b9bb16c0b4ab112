import { createMcpServer, memory, sessionMachine } from 'mcp-actors';
import {
  scriptedConversation,
  gate,
  notification,
  request,
  toolCall,
  flush,
} from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { echo, operate, operateWarm, serve, textOf, tool } from '../contract/serving.ts';

describe('one server', () => {
  test('serves many isolated sessions [BASE-02] [LIFE-01]', async () => {
    const look = tool('look', (_, { client }) => client.info.name);
    const server = createMcpServer({ name: 'shared', version: '1', tools: [look] });
    const conversations = Array.from({ length: 20 }, () => scriptedConversation(server));
    await Promise.all(
      conversations.map(({ peer }, n) =>
        peer.handshake({ clientInfo: { name: `client-${n}`, version: '1' } }),
      ),
    );
    const names = await Promise.all(
      conversations.map(async ({ peer }) => textOf(await peer.call('look'))),
    );
    expect(names).toEqual(conversations.map((_, n) => `client-${n}`));
    await Promise.all(conversations.map(({ session }) => session[Symbol.asyncDispose]()));
  });

  test('can end one session while another continues [LIFE-15]', async () => {
    const server = createMcpServer({ name: 'shared', version: '1', tools: [echo] });
    const [one, other] = [scriptedConversation(server), scriptedConversation(server)];
    await one.peer.handshake();
    await other.peer.handshake();
    await one.session[Symbol.asyncDispose]();
    expect(textOf(await other.peer.call('echo', {}))).toBe('{}');
    await other.session[Symbol.asyncDispose]();
  });
});

describe('a session reports', () => {
  test('its states and its end as facts [LIFE-15]', async () => {
    const { peer, session, facts } = await operate({}, { capabilities: { roots: {} } });
    peer.answer(await peer.request('roots/list'), { roots: [] });
    await facts.next('roots.updated');
    peer.end();
    await session.closed;
    expect(facts.of('session.state').map(({ message }) => message)).toEqual([
      'uninitialized',
      'negotiated',
      'initialized',
      'rootsKnown',
      'draining',
      'closed',
    ]);
    expect(facts.of('session.closed')).toHaveLength(1);
  });

  test('its emitted events to its host [LIFE-01] [ROOTS-19]', async () => {
    const { peer, session } = serve({});
    const heard: string[] = [];
    session.actor.on('*', ({ type }) => heard.push(type));
    await peer.handshake({ capabilities: { roots: {} } });
    peer.answer(await peer.request('roots/list'), { roots: [] });
    await peer.quiet();
    peer.end();
    await session.closed;
    expect(heard).toEqual([
      'session.negotiated',
      'session.initialized',
      'roots.updated',
      'session.closed',
    ]);
  });

  test('pending requests in both directions [CORR-02]', async () => {
    const door = gate();
    const asks = tool('asks', async (_, context) => {
      const asked = context.request('custom/question');
      await door.pass();
      return JSON.stringify(await asked);
    });
    const { peer, session } = await operateWarm({ tools: [asks] });
    const methods = (list: 'calls' | 'pending') => session.dump()[list].map(({ method }) => method);
    peer.send(toolCall(1, 'asks'));
    const asked = await peer.request('custom/question');
    expect(methods('calls')).toEqual(['tools/call']);
    expect(methods('pending')).toEqual(['custom/question']);
    peer.answer(asked, {});
    door.release();
    await peer.response(1);
    expect(methods('calls')).toEqual([]);
    expect(methods('pending')).toEqual([]);
  });

  test('no traces of a thousand finished requests [BASE-08] [CORR-02]', async () => {
    const asks = tool('asks', async (_, context) =>
      JSON.stringify(await context.request('custom/question')),
    );
    const { peer, session } = await operateWarm({ tools: [asks] });
    const children = Object.keys(session.actor.getSnapshot().children).length;
    for (let n = 0; n < 1000; n++) {
      peer.send(toolCall(n, 'asks'));
      peer.answer(await peer.request('custom/question'), { n });
      await peer.response(n);
    }
    expect(Object.keys(session.actor.getSnapshot().children)).toHaveLength(children);
  });
});

describe('the memory transport', () => {
  test('passes copies, not objects [STDIO-06]', async () => {
    const structured = { list: [1] };
    const give = tool('give', (args) => {
      (args['list'] as unknown[] | undefined)?.push('server');
      return { structured };
    });
    const { peer } = await operateWarm({ tools: [give] });
    const list = ['client'];
    const result = await peer.call('give', { list });
    expect(list).toEqual(['client']);
    (result['structuredContent'] as { list: unknown[] }).list.push('client');
    expect(structured).toEqual({ list: [1] });
  });

  test('works without the test kit [STDIO-01]', async () => {
    const { transport, peer } = memory();
    const session = createMcpServer({ name: 'plain', version: '1' }).listen(transport);
    const received: unknown[] = [];
    peer.received$.subscribe((frame) => received.push(frame));
    peer.send(request(1, 'ping'), request(2, 'ping'));
    await flush();
    expect(received).toEqual([1, 2].map((id) => ({ jsonrpc: '2.0', id, result: {} })));
    peer.end();
    await session.closed;
  });
});

test('exports the session machine with the session states [LIFE-01]', () => {
  const { open, ...ends } = sessionMachine.states;
  const lifecycle = open?.states['lifecycle']?.states ?? {};
  expect([lifecycle, ends].flatMap((states) => Object.keys(states))).toEqual([
    'uninitialized',
    'resolvingUpstream',
    'negotiated',
    'initialized',
    'rootsKnown',
    'modern',
    'draining',
    'closed',
  ]);
});

test.each([NaN, -1])(
  'rejects a shutdown with drainTimeoutMs %d and keeps the session open',
  async (ms) => {
    const { session, peer } = await operate({});
    expect(() => session.shutdown('test', ms)).toThrow(
      new RangeError(`drainTimeoutMs must be a number of milliseconds, 0 or more, got ${ms}`),
    );
    peer.send(request('still', 'ping'));
    expect(await peer.response('still')).toMatchObject({ result: {} });
    expect(session.state).toBe('rootsKnown');
  },
);

test('reports at most ten unusable roots individually, each once', async () => {
  const listOf = (count: number) => ({
    roots: Array.from({ length: count }, (_, at) => ({ uri: `http://${at}.example/` })),
  });
  const { peer, facts } = await operate({}, { capabilities: { roots: { listChanged: true } } });
  const told = () => facts.all.filter(({ name }) => name === 'root.unusable');
  peer.answer(await peer.request('roots/list'), listOf(12));
  await facts.next('roots.updated');
  expect(told().map(({ message }) => message)).toEqual([
    ...Array.from({ length: 10 }, (_, at) => `"http://${at}.example/" is not a file: URI`),
    '2 more roots of the client are unusable',
  ]);
  peer.send(notification('notifications/roots/list_changed'));
  peer.answer(await peer.request('roots/list'), listOf(13));
  await facts.next('roots.updated');
  expect(told().slice(11)).toMatchObject([{ message: '"http://12.example/" is not a file: URI' }]);
});

test('reports XState log output as a fact instead of writing it to stdout', async () => {
  const { session, facts } = await operate({});
  const { logger } = session.actor as unknown as { readonly logger: (...words: unknown[]) => void };
  logger('words of', 1);
  expect(facts.of('machine.log')).toMatchObject([{ level: 'debug', message: 'words of 1' }]);
});
