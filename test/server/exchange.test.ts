/** The handler's context over an exchange that is no call: no session, no correlation, no roots machine stands behind it. */
import { SimulatedClock } from 'xstate';
import { describe, expect, test, vi } from 'vitest';
import type { RequestContext, OutboundRequest } from '../../src/actors/request-context.ts';
import type { Clock } from '../../src/actors/clock.ts';
import type { RootsReport } from '../../src/protocol/roots.ts';
import { latestHandshake } from '../../src/protocol/dialects/registry.ts';
import type { JsonObject } from '../../src/protocol/frames.ts';
import type { RequestOrigin } from '../../src/protocol/request-origin.ts';
import { CallContext } from '../../src/server/context/call-context.ts';
import { OpenElicitations } from '../../src/server/context/elicitation.ts';
import { defaultLimits } from '../../src/actors/limits.ts';
import { clientId } from '../actors/ids.ts';

const everything = { roots: {}, sampling: { tools: {} }, elicitation: { form: {}, url: {} } };
const report: RootsReport = { status: 'known', generation: 1, settled: true, roots: [] };

/** What the client answers to each method. */
const answers: { readonly [method: string]: JsonObject } = {
  'elicitation/create': { action: 'accept', content: { name: 'Ada' } },
  'sampling/createMessage': {
    role: 'assistant',
    model: 'm',
    content: { type: 'text', text: 'hi' },
  },
  'custom/question': { n: 7 },
};

/** A context, what was asked and said through its exchange, and how often the client's capabilities were looked at. */
function contextOver(capabilities: JsonObject = everything, origin?: RequestOrigin) {
  const asked: OutboundRequest[] = [];
  const said: [method: string, params: JsonObject][] = [];
  const missingCapability = vi.fn(latestHandshake.missingCapability.bind(latestHandshake));
  const dialect = Object.assign(Object.create(latestHandshake) as typeof latestHandshake, {
    missingCapability,
  });
  const clock: Clock = Object.assign(new SimulatedClock() as unknown as Clock);
  const client = {
    dialect,
    requestedVersion: dialect.version,
    info: { name: 'client', version: '1' },
    capabilities,
  };
  const exchange: RequestContext = {
    request: {
      id: clientId(7),
      method: 'tools/call',
      size: 100,
      params: { _meta: { progressToken: 't' } },
      peer: client,
      session: undefined,
      origin,
    },
    signal: new AbortController().signal,
    task: undefined,
    hasEnded: false,
    context: undefined,
    checkpoint: undefined,
    machine: undefined,
    once: async (_, make) => make({}),
    sendRequest: (question) => {
      asked.push(question);
      return Promise.resolve(answers[question.method] ?? {});
    },
    notify: (method, params) => void said.push([method, params]),
    announce: (method, params) => void said.push([method, params]),
    roots: () => Promise.resolve(report),
    whenEnded: () => {},
    isWritable: true,
    whenWritable: (callback: () => void) => callback(),
    whenClosing: () => {},
    park: () => {},
    detach: () => () => {},
  };
  const session = {
    id: 's',
    state: 'modern' as const,
    notify: () => false,
    resourceUpdated: () => {},
    enable: () => {},
    disable: () => {},
    elicitationCompleted: () => false,
  };
  const context = new CallContext(exchange, {
    limits: defaultLimits,
    clock,
    log: { write: (call, level, data) => call.notify('notifications/message', { level, data }) },
    session,
    elicitations: new OpenElicitations(),
  });
  return { context, asked, said, missingCapability };
}

const form = {
  message: 'Who?',
  schema: { type: 'object', properties: { name: { type: 'string' } } },
} as const;
const conversation = { messages: [{ role: 'user', content: 'hello' }], maxTokens: 9 } as const;

describe('CallContext over a custom request context', () => {
  test('exposes the principal and the HTTP request of its transport', () => {
    const principal = { id: 'as ada', subject: 'ada', scopes: ['read'], claims: { n: 1 } };
    const http = {
      method: 'POST',
      target: '/',
      header: () => 'x',
      headerNames: () => ['a'],
      remoteAddress: '127.0.0.1',
      closeConnection: () => {},
    };
    const { context } = contextOver(everything, { idScope: 'request', principal, http });
    expect(context.principal).toBe(principal);
    expect(context.http).toBe(http);
    expect(contextOver().context.principal).toBeUndefined();
    expect(contextOver().context.http).toBeUndefined();
  });

  test('sends all kinds of requests to the client and parses the results', async () => {
    const { context, asked } = contextOver();
    const { elicit, elicitUrl, sample, request, roots } = context;
    await expect(elicit(form)).resolves.toEqual({ action: 'accept', content: { name: 'Ada' } });
    await expect(elicitUrl({ message: 'Pay', url: 'https://a.example' })).resolves.toMatchObject({
      action: 'accept',
    });
    await expect(sample(conversation)).resolves.toMatchObject({ text: 'hi' });
    await expect(request('custom/question')).resolves.toEqual({ n: 7 });
    await expect(roots()).resolves.toBe(report);
    expect(asked.map(({ method, params }) => [method, params?.['mode']])).toEqual([
      ['elicitation/create', 'form'],
      ['elicitation/create', 'url'],
      ['sampling/createMessage', undefined],
      ['custom/question', undefined],
    ]);
  });

  test('sends progress, logs and notifications through the request context', () => {
    const { context, said } = contextOver();
    const { progress, log } = context;
    progress(1, { total: 2, message: 'half' });
    log.info('words');
    expect(said).toEqual([
      ['notifications/progress', { progressToken: 't', progress: 1, total: 2, message: 'half' }],
      ['notifications/message', { level: 'info', data: 'words' }],
    ]);
  });

  const questions: readonly (readonly [string, (context: CallContext) => unknown])[] = [
    ['elicit', (context) => context.elicit(form)],
    ['elicitUrl', (context) => context.elicitUrl({ message: '', url: 'https://a.example' })],
    ['sample', (context) => context.sample(conversation)],
    ['request', (context) => context.request('sampling/createMessage')],
    [
      'request with a schema',
      (context) => context.request('sampling/createMessage', {}, { type: 'object' }),
    ],
  ];

  test.each(questions)('checks the capabilities of the client once: %s', async (_, ask) => {
    const { context, asked, missingCapability } = contextOver();
    await ask(context);
    expect([asked.length, missingCapability.mock.calls.length]).toEqual([1, 1]);
  });

  test.each(questions)('sends nothing without the declared capability: %s', async (_, ask) => {
    const { context, asked, missingCapability } = contextOver({});
    await expect(ask(context)).rejects.toMatchObject({ code: 'CAPABILITY_MISSING' });
    expect([asked.length, missingCapability.mock.calls.length]).toEqual([0, 1]);
  });
});
