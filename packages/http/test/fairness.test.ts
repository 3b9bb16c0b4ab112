/** Ada floods an endpoint; Bob must be served as if she were absent. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { gate } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import type { Limits, Tool } from 'mcp-actors';
import type { AuthorizationOptions, HttpOptions } from '../src/index.ts';
import { ask, callTool } from './modern/modern-client.ts';
import { initializeRequest, post } from './raw-client.ts';
import { serveHttp } from './serving.ts';

type Person = 'ada' | 'bob';

const authorization: AuthorizationOptions = {
  verifyToken: (token) => ({ subject: token }),
};

const as = (person: Person) => ({ headers: { authorization: `Bearer ${person}` } });

function serve(tools: readonly Tool[], limits: Partial<Limits>, options: HttpOptions = {}) {
  const server = createMcpServer({ name: 'fair', version: '1', tools });
  const session = { limits, report: () => {} };
  return serveHttp(server, { authorization, session, report: () => {}, ...options });
}

/** A tool with waiting calls, and the calls that have started. */
function holding(taskSupport?: 'required') {
  const held = gate();
  const begun: string[] = [];
  const tool = defineTool({
    name: 'hold',
    description: 'Waits until it is let go',
    ...(taskSupport ? { taskSupport } : {}),
    handler: async (_, { principal, signal }) => {
      begun.push(principal?.subject ?? '');
      await held.pass(signal);
      return 'held';
    },
  });
  return { tool, held, begun };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

const text = (said: string) => [{ type: 'text', text: said }];

describe('during a flood by another principal, the endpoint', () => {
  test('runs calls without rejecting them', async () => {
    const { tool, held, begun } = holding();
    const url = await serve([tool], { maxRunning: 2, maxWaiting: 2 });
    const refused: unknown[] = [];
    const flood = Array.from({ length: 20 }, async () => {
      const { error, result } = await callTool(url, 'hold', {}, as('ada'));
      if (error) refused.push(error.data);
      return result;
    });
    // Two run and two wait; others may still be queued on their connections.
    while (refused.length < 8 || begun.length < 2) await turn();
    const bobs = [1, 2].map(() => callTool(url, 'hold', {}, as('bob')));
    while (begun.length < 4) await turn();
    expect(begun).toEqual(['ada', 'ada', 'bob', 'bob']);
    held.release();
    expect((await Promise.all(bobs)).map(({ result }) => result?.['content'])).toEqual([
      text('held'),
      text('held'),
    ]);
    await Promise.all(flood);
    for (const data of refused) expect(data).toEqual({ reason: 'overloaded', retryable: true });
  });

  test('accepts tasks', async () => {
    const { tool, held } = holding('required');
    const url = await serve([tool], { maxTasks: 2 });
    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const create = (person: Person) => callTool(url, 'hold', {}, { ...as(person), capabilities });
    const flood = await Promise.all(Array.from({ length: 5 }, () => create('ada')));
    expect(flood.flatMap(({ error }) => error?.data ?? [])).toEqual(
      Array.from({ length: 3 }, () => ({ reason: 'too-many-tasks', retryable: true })),
    );
    const bobs = [await create('bob'), await create('bob'), await create('bob')];
    expect(bobs.map(({ result, error }) => result?.['resultType'] ?? error?.code)).toEqual([
      'task',
      'task',
      -32_603,
    ]);
    held.release();
  });

  test('keeps suspended calls resumable', async () => {
    const runs: string[] = [];
    const who = defineTool({
      name: 'who',
      description: 'Asks for a name',
      handler: async (_, context) => {
        runs.push(context.principal?.subject ?? '');
        const schema = { type: 'object', properties: { name: { type: 'string' } } } as const;
        const answer = await context.elicit({ message: 'Who?', schema });
        return answer.action === 'accept' ? `${answer.content['name']}` : answer.action;
      },
    });
    const url = await serve([who], { maxSuspendedCalls: 2 });
    const asking = (person: Person) => ({ ...as(person), capabilities: { elicitation: {} } });
    const begin = async (person: Person) =>
      (await callTool(url, 'who', {}, asking(person))).result as {
        readonly requestState: string;
        readonly inputRequests: object;
      };
    const goOn = async (
      person: Person,
      { requestState, inputRequests }: Awaited<ReturnType<typeof begin>>,
    ) => {
      const [key = ''] = Object.keys(inputRequests);
      const inputResponses = { [key]: { action: 'accept', content: { name: person } } };
      const retry = { name: 'who', arguments: {}, requestState, inputResponses };
      return (await ask(url, 'tools/call', retry, asking(person))).result?.['content'];
    };
    const bobs = await begin('bob');
    const adas = [await begin('ada'), await begin('ada'), await begin('ada')];
    expect(await goOn('bob', bobs)).toEqual(text('bob'));
    expect(runs.filter((person) => person === 'bob')).toHaveLength(1);
    // Her oldest call was evicted, so its handler restarts.
    for (const one of adas) expect(await goOn('ada', one)).toEqual(text('ada'));
    expect(runs.filter((person) => person === 'ada')).toHaveLength(4);
  });

  test('keeps sessions open', async () => {
    const url = await serve([], {}, { limits: { maxSessions: 3 } });
    const begin = async (person: Person) => {
      const begun = await post(url, initializeRequest(), as(person).headers);
      await begun.text();
      return begun.headers.get('mcp-session-id') ?? `${begun.status}`;
    };
    const statusOf = async (person: Person, session: string) => {
      const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
      return (await post(url, ping, { ...as(person).headers, 'mcp-session-id': session })).status;
    };
    const bobs = await begin('bob');
    const adas = [await begin('ada'), await begin('ada'), await begin('ada'), await begin('ada')];
    expect(await statusOf('bob', bobs)).toBe(200);
    expect(await Promise.all(adas.map((each) => statusOf('ada', each)))).toEqual([
      404, 404, 200, 200,
    ]);
  });

  test('evicts a session of the flooding principal for a newcomer, not one in use', async () => {
    const url = await serve([], {}, { limits: { maxSessions: 2 } });
    const begin = (person: Person) => post(url, initializeRequest(), as(person).headers);
    const idle = await begin('bob');
    const adas = await begin('ada');
    const listening = await fetch(url, {
      headers: {
        ...as('ada').headers,
        accept: 'text/event-stream',
        'mcp-session-id': adas.headers.get('mcp-session-id') ?? '',
      },
    });
    // Both have equally many, so nothing is evicted for her.
    expect((await begin('ada')).status).toBe(503);
    expect((await begin('bob')).status).toBe(200);
    expect([idle.status, listening.status]).toEqual([200, 200]);
    await listening.body?.cancel();
  });
});
