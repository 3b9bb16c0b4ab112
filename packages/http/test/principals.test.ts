/** Sessions belong to their principal: Bob has his own token and knows all of Ada's ids. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { gate } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import type { AuthorizationOptions } from '../src/index.ts';
import { EventReader, RawSession, initializeRequest, jsonOf, post } from './raw-client.ts';
import { reportLog, serveHttp } from './serving.ts';

type Person = 'ada' | 'bob';

const authorization: AuthorizationOptions = {
  verifyToken: (token) => (['ada', 'bob'].includes(token) ? { subject: token } : undefined),
};

const as = (person: Person) => ({ authorization: `Bearer ${person}` });

async function serve() {
  const held = gate();
  const signals: AbortSignal[] = [];
  const hold = defineTool({
    name: 'hold',
    description: 'Waits until it is let go',
    handler: async (_, { log, signal }) => {
      signals.push(signal);
      log.info('begun');
      await held.pass();
      return 'held';
    },
  });
  const ask = defineTool({
    name: 'ask',
    description: 'Asks the client',
    handler: async (_, context) => JSON.stringify(await context.request('custom/question')),
  });
  const tools = [hold, ask];
  const server = createMcpServer({ name: 'shared', version: '1', tools, logging: {} });
  const facts = reportLog();
  const session = { report: facts.report };
  const url = await serveHttp(server, { authorization, session, report: facts.report });
  const begin = async (person: Person) => {
    const begun = await post(url, initializeRequest(), as(person));
    await begun.text();
    const id = begun.headers.get('mcp-session-id') ?? '';
    const own = new RawSession(url, { ...as(person), 'mcp-session-id': id });
    await own.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return own;
  };
  const [ada, bob] = [await begin('ada'), await begin('bob')];
  /** Bob uses the id of Ada's session. */
  const intruder = new RawSession(url, { ...ada.headers, ...as('bob') });
  return { ...facts, ada, bob, intruder, held, signals };
}

const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'a' } };

test('ignores responses of another principal at either session', async () => {
  const { ada, bob, intruder, told } = await serve();
  const stream = new EventReader(await ada.call('ask', {}, 'a'));
  const { id } = (await stream.message()).data;
  const answer = (from: string) => ({ jsonrpc: '2.0', id, result: { from } });
  expect((await intruder.post(answer('bob'))).status).toBe(404);
  expect((await bob.post(answer('bob'))).status).toBe(202);
  await told('response.unknown');
  await ada.post(answer('ada'));
  expect(JSON.stringify((await stream.message()).data.result)).toContain(
    String.raw`{\"from\":\"ada\"}`,
  );
});

test('ignores cancellations of another principal at either session', async () => {
  const { ada, bob, intruder, held, signals } = await serve();
  const called = ada.call('hold', {}, 'a');
  await held.arrived();
  expect((await intruder.post(cancelled)).status).toBe(404);
  expect((await bob.post(cancelled)).status).toBe(202);
  // His earlier post was processed before this answer.
  await jsonOf(await bob.request('ping'));
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  held.release();
  const said = await new EventReader(await called).rest();
  expect(said.at(-1)?.data).toMatchObject({ id: 'a', result: { content: [{ text: 'held' }] } });
});

test("rejects a notification at another principal's session", async () => {
  const { intruder } = await serve();
  const changed = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' };
  const refused = await intruder.post(changed);
  expect([refused.status, await jsonOf(refused)]).toEqual([
    404,
    expect.objectContaining({ error: expect.objectContaining({ code: expect.any(Number) }) }),
  ]);
});

test('resumes a stream only for its principal and its session', async () => {
  const { ada, bob, intruder, held, told } = await serve();
  const stream = new EventReader(await ada.call('hold', {}, 'a'));
  const { id = '' } = await stream.message();
  await held.arrived();
  await stream.leave();
  await told('stream.left');
  expect((await intruder.get(id)).response.status).toBe(404);
  expect((await bob.get(id)).response.status).toBe(400);
  held.release();
  const resumed = await ada.get(id);
  const { data } = await resumed.message();
  expect(data).toMatchObject({ id: 'a', result: { content: [{ type: 'text', text: 'held' }] } });
});
