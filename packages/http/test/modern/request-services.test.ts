/** Request services: lifetime, and the end of their requests. */
import { createMcpServer, defineTool } from 'mcp-actors';
import type { HandlerContext, McpServer } from 'mcp-actors';
import { TestClock, enveloped, gate, initialize, toolCall, flush } from 'mcp-actors/testing';
import type { EnvelopeOptions } from 'mcp-actors/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { httpHandler } from '../../src/index.ts';
import type { HttpOptions } from '../../src/index.ts';
import { EventReader, jsonOf, postHeaders } from '../raw-client.ts';
import type { Message } from '../raw-client.ts';
import { headersOf } from './modern-client.ts';

type Run = (context: HandlerContext) => string | Promise<string>;

/** An in-process endpoint with the tool `run`, and its client. */
function endpoint(run: Run = () => 'done', options: HttpOptions = {}, serverOf?: () => McpServer) {
  const clock = new TestClock();
  clock.increment(1_000_000);
  const made = () =>
    createMcpServer({
      name: 'services',
      version: '1',
      tools: [
        defineTool({ name: 'run', description: 'Runs', handler: (_, context) => run(context) }),
      ],
    });
  const server = made();
  const listen = vi.spyOn(server, 'listen');
  const report = () => {};
  const common = { clock, report, session: { report }, ...options };
  const handler = httpHandler(serverOf ?? server, common);
  onTestFinished(() => void handler.close(0));
  const post = (message: object, headers: object = {}, signal: AbortSignal | null = null) =>
    handler(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: { ...postHeaders, ...headers },
        body: JSON.stringify(message),
        signal,
      }),
    );
  const call = (name = 'run', asked: EnvelopeOptions = {}, signal: AbortSignal | null = null) => {
    const message = enveloped(1, 'tools/call', { name, arguments: {} }, asked);
    return post(message, headersOf(message as Message), signal);
  };
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      clock.increment(1000);
      await flush();
    }
  };
  return { clock, handler, post, call, pass, made, listened: () => listen.mock.calls.length };
}

/** True if the answer has arrived. */
async function hasCome(answer: Promise<unknown>): Promise<boolean> {
  let come = false;
  void answer.then(() => (come = true));
  for (let turns = 0; turns < 3; turns++) await flush();
  return come;
}

test('stays open while clients wait or return in time', async () => {
  const held = gate();
  const { call, pass, handler, listened } = endpoint(() => held.pass().then(() => 'done'), {
    limits: { sessionIdleTimeoutMs: 10_000 },
  });
  const answer = call();
  await pass(1);
  // The request has waited one second, whatever the clock was before.
  expect(await hasCome(answer)).toBe(false);
  await pass(40);
  expect((await answer).headers.get('content-type')).toBe('text/event-stream');
  held.release();
  expect((await new EventReader(await answer).messages()).at(-1)).toHaveProperty('result');
  for (let times = 0; times < 2; times++) {
    await pass(9);
    expect((await call()).status).toBe(200);
  }
  expect([listened(), handler.sessions.length]).toEqual([1, 1]);
  await pass(11);
  expect(handler.sessions).toEqual([]);
  expect((await call()).status).toBe(200);
  expect(listened()).toBe(2);
});

test("keeps a suspended call for its lifetime by the endpoint's clock", async () => {
  const elicit: Run = async (context) =>
    JSON.stringify(
      await context.elicit({ message: 'Who?', schema: { type: 'object', properties: {} } }),
    );
  const { call, pass, handler } = endpoint(elicit, {
    session: { report: () => {}, limits: { suspendedCallTimeoutMs: 60_000 } },
    limits: { sessionIdleTimeoutMs: 10_000 },
  });
  const asked = await jsonOf(await call('run', { capabilities: { elicitation: { form: {} } } }));
  expect(asked.result).toMatchObject({ resultType: 'input_required' });
  await pass(50);
  expect(handler.sessions).toHaveLength(1);
  await pass(25);
  expect(handler.sessions).toEqual([]);
});

test('keeps many services with resumable calls', async () => {
  const capabilities = { elicitation: { form: {} } };
  const { call, made, handler } = endpoint(
    async (context) =>
      JSON.stringify(
        await context.elicit({ message: 'Who?', schema: { type: 'object', properties: {} } }),
      ),
    {},
    () => made(),
  );
  for (let n = 0; n < 66; n++) expect((await call('run', { capabilities })).status).toBe(200);
  expect(handler.sessions).toHaveLength(66);
});

test.each([
  ['of 2026-07-28 that disconnects by cancelling its call', true],
  ['of an older revision that disconnects by keeping its call', false],
])('handles a client %s', async (_, isModern) => {
  const held = gate();
  const signals: AbortSignal[] = [];
  const ended = gate();
  const { call, post } = endpoint(
    async ({ signal }) => {
      signals.push(signal);
      await held.pass();
      void ended.pass();
      return 'done';
    },
    { stateless: true },
  );
  const leaving = new AbortController();
  const left = isModern
    ? call('run', {}, leaving.signal)
    : post(toolCall(1, 'run'), {}, leaving.signal);
  await held.arrived();
  leaving.abort();
  await hasCome(left.catch(() => {}));
  expect(signals.map(({ aborted }) => aborted)).toEqual([isModern]);
  if (isModern) expect(String(signals[0]?.reason)).toContain('The client closed the connection');
  held.release();
  await ended.arrived();
});

test.each([
  ['of 2026-07-28', true],
  ['of an older revision', false],
])('answers a call %s under its id if its session ends', async (_, isModern) => {
  const held = gate();
  onTestFinished(() => held.release());
  const { call, post, pass, handler, listened } = endpoint(() => held.pass().then(() => 'done'), {
    stateless: true,
  });
  const answer = isModern ? call() : post(toolCall(1, 'run'));
  await held.arrived();
  handler.sessions[0]?.shutdown('enough', 0);
  await pass(1);
  expect(await jsonOf(await answer)).toMatchObject({ id: 1, error: {} });
  expect(handler.sessions).toEqual([]);
  held.release();
  expect((await (isModern ? call() : post(toolCall(2, 'run')))).status).toBe(200);
  expect(listened()).toBe(2);
});

test('fails only the call whose message cannot be serialized', async () => {
  const { post } = endpoint(
    (context) => {
      context.notify('test/step', { tokens: 1n } as never);
      return 'done';
    },
    { stateless: true },
  );
  const answer = await post(toolCall(1, 'run'));
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(await jsonOf(answer)).toMatchObject({ id: 1, result: { isError: true } });
});

test('drains running calls on close', async () => {
  const held = gate();
  const { call, handler, clock } = endpoint(() => held.pass().then(() => 'done'));
  const answer = call();
  await held.arrived();
  const closed = handler.close();
  expect(await hasCome(closed)).toBe(false);
  held.release();
  expect(await jsonOf(await answer)).toMatchObject({ id: 1, result: {} });
  await closed;
  expect(clock.liveTimers).toBe(0);
});

test('answers a sessionless initialize whatever revision its header names', async () => {
  const { post } = endpoint(undefined, { stateless: true });
  const answer = await post(initialize(1), { 'mcp-protocol-version': '1999-01-01' });
  expect(await jsonOf(answer)).toMatchObject({ id: 1, result: { serverInfo: {} } });
});
