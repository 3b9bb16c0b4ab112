/** The laboratory with clients of both eras: the official client, over a real subprocess. */
import type { Client, ClientCapabilities } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, test } from 'vitest';
import type { JsonObject } from 'mcp-actors';
import { enveloped } from 'mcp-actors/testing';
import type { EnvelopeOptions } from 'mcp-actors/testing';
import { program } from '../tooling/programs.ts';
import { connect as connectTo, modern, textOf } from './both-eras-client.ts';
import type { Negotiation } from './both-eras-client.ts';
import { lab, launch, reapServers } from './server-process.ts';
import { LineStream } from './line-stream.ts';

afterEach(reapServers);

const everything: ClientCapabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };

/** Connects as a client that answers and counts all requests. */
async function answering(args: readonly string[], mode: Negotiation) {
  const client = await connectTo(args, { mode, capabilities: everything });
  const asked: string[] = [];
  client.setRequestHandler('elicitation/create', () => {
    asked.push('elicitation');
    // Declining is an answer too.
    return asked.filter((kind) => kind === 'elicitation').length === 2
      ? { action: 'decline' }
      : { action: 'accept', content: {} };
  });
  client.setRequestHandler('sampling/createMessage', () => {
    asked.push('sampling');
    return { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello.' } };
  });
  client.setRequestHandler('roots/list', () => {
    asked.push('roots');
    return { roots: [{ uri: 'file:///work', name: 'work' }] };
  });
  return { client, asked };
}

/** The first number in a tool's text. */
async function numberOf(client: Client, name: string, args = {}): Promise<number> {
  const result = await client.callTool({ name, arguments: args });
  expect(result.isError ?? false, textOf(result)).toBe(false);
  return Number(/\d+/.exec(textOf(result))?.[0]);
}

const eras: readonly [string, Negotiation][] = [
  ['2025-11-25', 'legacy'],
  ['2026-07-28', modern],
];

describe.each(eras)('the laboratory server in %s', (revision, mode) => {
  test('offers its tools and resources', async () => {
    const client = await connectTo(lab, { mode });
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...['list_roots', 'slow', 'running', 'echo', 'ask', 'log', 'headers', 'job', 'change'],
    ]);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(['lab://a', 'lab://b']);
    expect(await client.readResource({ uri: 'lab://b' })).toMatchObject({
      contents: [{ uri: 'lab://b', text: 'This is the resource b.' }],
    });
  });

  test.each(['roots', 'sampling', 'elicitation'])(
    'requests %s one after the other, and all at once',
    async (kind) => {
      const { client, asked } = await answering(lab, mode);
      // A legacy session requests the roots itself.
      await client.callTool({ name: 'list_roots' });
      asked.length = 0;
      expect(await numberOf(client, 'ask', { kind, count: 2 })).toBe(2);
      expect(await numberOf(client, 'ask', { kind, count: 3, concurrent: true })).toBe(3);
      expect(asked).toEqual(Array.from({ length: 5 }, () => kind));
    },
  );

  test("lists the client's roots, and says if there are none", async () => {
    const { client } = await answering(lab, mode);
    const result = await client.callTool({ name: 'list_roots' });
    expect(result.structuredContent).toMatchObject({
      status: 'known',
      roots: [{ uri: 'file:///work', name: 'work' }],
    });
    const rootless = await connectTo(lab, { mode });
    expect((await rootless.callTool({ name: 'list_roots' })).structuredContent).toMatchObject({
      status: 'undeclared',
      roots: [],
    });
  });

  test('counts slow calls, which report progress and end when cancelled', async () => {
    const client = await connectTo(lab, { mode });
    const heard = new AbortController();
    const steps: number[] = [];
    // The official client drops progress that it has not delivered before the answer.
    const onprogress = ({ progress }: { progress: number }) => {
      if (steps.push(progress) === 2) heard.abort('heard');
    };
    const told = client.callTool(
      { name: 'slow', arguments: { ms: 3000 } },
      { onprogress, signal: heard.signal },
    );
    await expect(told).rejects.toThrow('heard');
    expect(steps).toEqual([0, 1]);
    const controller = new AbortController();
    const slow = client.callTool(
      { name: 'slow', arguments: { ms: 3_600_000 } },
      { signal: controller.signal },
    );
    expect(await numberOf(client, 'running')).toBe(1);
    controller.abort('enough');
    await expect(slow).rejects.toThrow('enough');
    expect(await numberOf(client, 'running')).toBe(0);
  });

  test('runs a job within the call, and fails on demand', async () => {
    const { client } = await answering(lab, mode);
    expect(await numberOf(client, 'job', { ms: 1, ask: true })).toBe(1);
    const failing = { name: 'job', arguments: { ms: 1, fail: 'tool' } };
    expect(await client.callTool(failing)).toMatchObject({ isError: true });
    const broken = { name: 'job', arguments: { ms: 1, fail: 'protocol' } };
    await expect(client.callTool(broken)).rejects.toMatchObject({ code: -32603 });
  });

  test('returns the parameters it received', async () => {
    const client = await connectTo(lab, { mode });
    const args = { text: 'ä', count: 3, flag: false, nested: { text: 'x' } };
    for (const got of [args, {}]) {
      const result = await client.callTool({ name: 'headers', arguments: got });
      expect(result.structuredContent).toEqual({ got });
    }
  });

  test.each([false, true])(
    'lets a tool use all kinds of requests (at once: %s)',
    async (atOnce) => {
      const { client, asked } = await answering(program('test/e2e/asking-server.ts'), mode);
      const result = await client.callTool({ name: 'ask_everything', arguments: { atOnce } });
      expect(textOf(result)).toContain('Hello. file:///work');
      expect(new Set(asked)).toEqual(new Set(['elicitation', 'sampling', 'roots']));
    },
  );
});

describe('the laboratory server, with a client that accepts no requests', () => {
  test.each(['roots', 'sampling', 'elicitation'])('for %s', async (kind) => {
    const call = { name: 'ask', arguments: { kind, count: 1 } };
    const old = await connectTo(lab, { mode: 'legacy' });
    const refused = await old.callTool(call);
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain(kind);
    const client = await connectTo(lab, { mode: modern });
    await expect(client.callTool(call)).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { [kind]: {} } },
    });
  });
});

describe('a change', () => {
  const kinds = ['tools', 'prompts', 'resources'] as const;

  /** Records a client's notifications. */
  function hearing(client: Client) {
    const heard = new LineStream<{ readonly what: string }>('notification');
    for (const what of kinds) {
      client.setNotificationHandler(`notifications/${what}/list_changed`, () => {
        heard.push({ what });
      });
    }
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      heard.push({ what: params.uri });
    });
    return heard;
  }

  const changeAll = async (client: Client) => {
    for (const uri of ['lab://b', 'lab://a']) {
      await client.callTool({ name: 'change', arguments: { what: 'resource', uri } });
    }
    for (const what of kinds) await client.callTool({ name: 'change', arguments: { what } });
  };

  test.each(eras)('is announced to a client of %s that subscribed to it', async (_, mode) => {
    const client = await connectTo(lab, { mode });
    const heard = hearing(client);
    if (mode === 'legacy') await client.subscribeResource({ uri: 'lab://a' });
    else {
      const subscription = await client.listen({
        ...{ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true },
        resourceSubscriptions: ['lab://a'],
      });
      expect(subscription.honoredFilter).toMatchObject({ resourceSubscriptions: ['lab://a'] });
    }
    await changeAll(client);
    for (const what of [...kinds, 'lab://a']) await heard.find((line) => line.what === what);
    expect(heard.all.map(({ what }) => what)).not.toContain('lab://b');
  });

  test('is not announced after the client has ended its subscription', async () => {
    const client = await connectTo(lab, { mode: modern });
    const heard = hearing(client);
    const subscription = await client.listen({ resourceSubscriptions: ['lab://a', 'lab://b'] });
    await client.callTool({ name: 'change', arguments: { what: 'resource', uri: 'lab://a' } });
    await heard.find(({ what }) => what === 'lab://a');
    await subscription.close();
    await expect(subscription.closed).resolves.toBe('local');
    await client.callTool({ name: 'change', arguments: { what: 'resource', uri: 'lab://b' } });
    await client.callTool({ name: 'echo', arguments: { message: 'the last' } });
    expect(heard.all.map(({ what }) => what)).toEqual(['lab://a']);
  });
});

describe('the laboratory server, line by line in 2026-07-28', () => {
  const options: EnvelopeOptions = { capabilities: everything };

  function start() {
    const server = launch(lab);
    const call = (id: number, name: string, args: object, more: object = {}) => {
      server.send(enveloped(id, 'tools/call', { name, arguments: args, ...more }, options));
      return server.answer(id);
    };
    return { server, call };
  }

  test('sends one input request per round or all in one, and rejects a malformed answer', async () => {
    const { call } = start();
    const inTurn = { kind: 'elicitation', count: 2 };
    const { result } = (await call(1, 'ask', inTurn)) as { result: Asking };
    const [key, ...others] = Object.keys(result.inputRequests) as [string];
    expect(others).toEqual([]);
    const { requestState } = result;
    for (const [place, answer] of [7, {}, { action: 'maybe' }, accepted(7)].entries()) {
      const retry = { requestState, inputResponses: { [key]: answer } };
      const refusal = await call(10 + place, 'ask', inTurn, retry);
      expect(refusal).toMatchObject({ error: { code: -32602 } });
    }
    const forRoots = { kind: 'roots', count: 1 };
    const listing = (await call(3, 'ask', forRoots)) as { result: Asking };
    const [place = ''] = Object.keys(listing.result.inputRequests);
    const retry = {
      requestState: listing.result.requestState,
      inputResponses: { [place]: { roots: [{}] } },
    };
    expect(await call(4, 'ask', forRoots, retry)).toMatchObject({ error: { code: -32602 } });
    const atOnce = { kind: 'sampling', count: 3, concurrent: true };
    const asking = (await call(2, 'ask', atOnce)) as { result: Asking };
    expect(Object.keys(asking.result.inputRequests)).toHaveLength(3);
  });

  test('sends a log message only at a level that the call requests', async () => {
    const { server, call } = start();
    const meta = { _meta: { 'io.modelcontextprotocol/logLevel': 'warning' } };
    await call(1, 'log', { level: 'error', message: 'unheard' });
    await call(2, 'log', { level: 'info', message: 'too low' }, meta);
    await call(3, 'log', { level: 'error', message: 'heard' }, meta);
    const logged = server.messages.all.filter(({ method }) => method === 'notifications/message');
    expect(logged).toMatchObject([{ params: { level: 'error', data: 'heard' } }]);
  });
});

describe('a job as a task', () => {
  const job = { name: 'job', arguments: { ms: 1, ask: true } };

  test('of a client of 2025-11-25 sends it requests, and its result is fetched', async () => {
    const server = launch(lab);
    server.answers.set('elicitation/create', () => ({ action: 'accept', content: {} }));
    await server.initialize({ elicitation: {} });
    const { result } = await server.request(1, 'tools/call', { ...job, task: { ttl: 60_000 } });
    const { taskId } = (result as { readonly task: { readonly taskId: string } }).task;
    expect(await server.request(2, 'tasks/result', { taskId })).toMatchObject({
      result: { structuredContent: { sleptMs: 1 } },
    });
  });

  test('of a client of 2026-07-28 that supports tasks shows its requests, and resumes with the answers', async () => {
    const server = launch(lab);
    const extensions = { 'io.modelcontextprotocol/tasks': {} };
    let ids = 0;
    const ask = async (method: string, params: JsonObject) => {
      const id = ++ids;
      const capabilities = { ...everything, extensions };
      server.send(enveloped(id, method, params, { capabilities }));
      return (await server.answer(id))['result'] as Task;
    };
    const { resultType, taskId } = await ask('tools/call', job);
    expect(resultType).toBe('task');
    const inStatus = async (status: string): Promise<Task> => {
      for (;;) {
        const task = await ask('tasks/get', { taskId });
        if (task.status === status) return task;
      }
    };
    const { inputRequests } = await inStatus('input_required');
    const [key] = Object.keys(inputRequests) as [string];
    await ask('tasks/update', { taskId, inputResponses: { [key]: accepted('Ada') } });
    expect((await inStatus('completed')).result).toMatchObject({
      structuredContent: { sleptMs: 1 },
    });
  });
});

interface Task {
  readonly resultType: string;
  readonly taskId: string;
  readonly status: string;
  readonly inputRequests: object;
  readonly result: object;
}

interface Asking {
  readonly inputRequests: object;
  readonly requestState: string;
}

const accepted = (name: unknown) => ({ action: 'accept', content: { name } });
