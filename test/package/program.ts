/**
 * A user's program with the published package. Compiled and run in an empty folder by
 * published.test.ts.
 */
import {
  ErrorCode,
  ProtocolError,
  RuntimeError,
  ToolError,
  createMcpServer,
  defaultLimits,
  defineForm,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  memory,
  classify,
  rootsMachine,
  sessionMachine,
  sessionOf,
  stdio,
} from 'mcp-actors';
import type {
  CloseCause,
  HandlerContext,
  Limits,
  McpSession,
  Middleware,
  SessionLogicInput,
  Tool,
} from 'mcp-actors';
import { inspectPage } from '@mcp-actors/inspector';
import type { InspectedPage } from '@mcp-actors/inspector';
import { toolsFromOpenApi } from '@mcp-actors/openapi';
import type { OpenApiOptions } from '@mcp-actors/openapi';
import { openTelemetry, sessionDurations } from 'mcp-actors/opentelemetry';
import type { OpenTelemetryOptions, SessionDurationsOptions } from 'mcp-actors/opentelemetry';
import { testClient, gate, serverContract } from 'mcp-actors/testing';
import type { TestClient } from 'mcp-actors/testing';
import { filter, firstValueFrom, map, toArray } from 'rxjs';
import { StateMachine, assign, createActor, setup, toPromise } from 'xstate';

const add: Tool = defineTool({
  name: 'add',
  description: 'Adds',
  inputSchema: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number', default: 1 } },
    required: ['a'],
  },
  outputSchema: {
    type: 'object',
    properties: { sum: { type: 'number' }, kind: { enum: ['small', 'large'] } },
    required: ['sum', 'kind'],
  },
  handler: ({ a, b = 0 }, context: HandlerContext) => {
    if (a < 0) throw new ToolError('No debts', { code: 'NEGATIVE' });
    context.progress(1);
    return { structured: { sum: a + b, kind: a + b < 10 ? 'small' : 'large' } };
  },
});

const book = defineTool({
  name: 'book',
  description: 'Asks',
  handler: async (_args, context) => {
    const schema = defineForm({ type: 'object', properties: { people: { type: 'integer' } } });
    const answer = await context.elicit({ message: 'How many?', schema });
    return answer.action === 'accept' ? `For ${answer.content.people}` : answer.action;
  },
});

const server = createMcpServer({
  name: 'program',
  version: '1.0.0',
  tools: [add, book],
  resources: [defineResource({ uri: 'a:b', name: 'ab', read: () => 'the text' })],
  resourceTemplates: [
    defineResourceTemplate({
      uriTemplate: 'note:{id}',
      name: 'note',
      read: (_uri, { id }) => String(id),
    }),
  ],
  prompts: [
    definePrompt({
      name: 'greet',
      arguments: { who: { required: true } },
      get: ({ who }) => `Hi ${who}`,
    }),
  ],
});

const options: OpenTelemetryOptions = { attributes: { 'network.transport': 'pipe' } };
server.use(openTelemetry(options));
const methods: string[] = [];
const note: Middleware = ({ method }, next) => {
  methods.push(method);
  return next();
};
server.use(note);

const durations: SessionDurationsOptions = options;
const client: TestClient = await testClient(server, {
  watchers: [sessionDurations(durations)],
  elicit: () => ({ action: 'accept', content: { people: 3 } }),
});
const session: McpSession = client.session;
const sum: Awaited<ReturnType<TestClient['callTool']>> = await client.callTool('add', { a: 41 });
const outcomes = {
  sum: sum.structured,
  refused: (await client.callTool('add', { a: -1 })).text,
  booked: (await client.callTool('book')).text,
  read: (await client.readResource('a:b')).text,
  note: (await client.readResource('note:7')).text,
  prompt: (await client.getPrompt('greet', { who: 'Ada' })).messages[0]?.content,
  missing: await client.callTool('none').then(
    () => 'found',
    (error: { readonly error: { readonly code: number } }) => error.error.code,
  ),
};
await client.close();
const { kind } = await session.closed;

/**
 * A host with a session of the same server in its own actor system, observed with its own copy of
 * RxJS.
 */
const hostMachine = setup({
  types: {
    input: {} as SessionLogicInput,
    context: {} as SessionLogicInput & { readonly cause?: CloseCause },
    output: {} as CloseCause['kind'] | undefined,
  },
  actors: { session: server.sessionLogic },
}).createMachine({
  context: ({ input }) => input,
  initial: 'serving',
  states: {
    serving: {
      invoke: {
        id: 'session',
        src: 'session',
        input: ({ context }) => context,
        onDone: {
          target: 'done',
          actions: assign({ cause: ({ event }) => event.output.cause }),
        },
      },
    },
    done: { type: 'final' },
  },
  output: ({ context }) => context.cause?.kind as CloseCause['kind'],
});
const { transport, peer } = memory();
const host = createActor(hostMachine, { input: { transport } }).start();
const embedded = sessionOf(host.getSnapshot().children['session'] as never);
const states = firstValueFrom(
  embedded.state$.pipe(
    filter((state) => state !== 'uninitialized'),
    map((state) => state.toUpperCase()),
    toArray(),
  ),
);
peer.end();
const hosted = { output: await toPromise(host), states: await states };

for (const { check } of serverContract) await check(server);

const inspected: InspectedPage = await inspectPage();
const watched = await testClient(server, { watchers: [inspected.watcher] });
const html = await (await fetch(inspected.url)).text();
await watched.close();
await inspected.close();

const pets: OpenApiOptions = {
  server: 'https://pets.example',
  fetch: async () => Response.json({}, { status: 404 }),
};
const operation = { operationId: 'getPet', responses: {} };
const tools = await toolsFromOpenApi(
  {
    openapi: '3.1.0',
    info: { title: 'Pets', version: '1' },
    paths: { '/pet': { get: operation } },
  },
  pets,
);
const shop = await testClient(createMcpServer({ name: 'pets', version: '1', tools }));
const pet = (await shop.callTool('getPet')).text;
await shop.close();

const limits: Limits = defaultLimits;
const door = gate();
door.release();
await door.pass();

console.log(
  JSON.stringify({
    ...outcomes,
    kind,
    methods: methods.slice(0, 4),
    page: limits.pageSize,
    pet,
    charts: Object.keys(
      JSON.parse(/id="machines">(.*)<\/script>/.exec(html)?.[1] ?? '{}') as object,
    ).length,
    machines: [sessionMachine.id, rootsMachine.id].length,
    // The library imports XState in another module format than this program.
    isOneXState: sessionMachine instanceof StateMachine,
    hosted,
    frame: classify(3).kind,
    transports: [typeof memory().transport, typeof stdio()],
    errors: [
      new ProtocolError(ErrorCode.invalidParams, 'bad').code,
      new RuntimeError('CANCELLED', 'enough').code,
    ],
  }),
);
