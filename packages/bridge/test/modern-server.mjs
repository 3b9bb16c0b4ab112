/** A server of 2026-07-28 and nothing else, of the official SDK, with the tools of legacy-server.mjs. */
import { McpServer, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const text = (said) => ({ content: [{ type: 'text', text: String(said) }] });
const seen = { aborted: 0 };
const message = { role: 'user', content: { type: 'text', text: 'Say something' } };
const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };
const lookup = { name: 'lookup', inputSchema: { type: 'object' } };
const thing = 'test://thing';

/** A tool that asks once, and says what it was answered. */
const asking =
  (request, told) =>
  ({ mcpReq }) => {
    const answer = mcpReq.inputResponses?.answer;
    if (answer) return text(told(answer));
    return inputRequired({ inputRequests: { answer: request }, requestState: 'of the server' });
  };

function makeServer() {
  const mcp = new McpServer(
    { name: 'modern', version: '1.0.0' },
    {
      instructions: 'Call what you like',
      capabilities: {
        logging: {},
        completions: {},
        resources: { subscribe: true, listChanged: true },
        tools: { listChanged: true },
      },
    },
  );
  const { server } = mcp;
  const tools = {
    echo: ({ mcpReq }) => ({
      ...text('said'),
      _meta: { 'example.org/seen': mcpReq._meta ?? {} },
      unknown: [1],
    }),
    form: asking(inputRequired.elicit({ message: 'Who?', requestedSchema }), JSON.stringify),
    url: asking(
      {
        method: 'elicitation/create',
        params: { mode: 'url', message: 'Open it', url: 'https://example.org/x' },
      },
      ({ action }) => action,
    ),
    sample: asking(
      { method: 'sampling/createMessage', params: { messages: [message], maxTokens: 9 } },
      ({ content }) => content.text,
    ),
    'sample-tools': asking(
      {
        method: 'sampling/createMessage',
        params: {
          messages: [message],
          maxTokens: 9,
          tools: [lookup],
          toolChoice: { mode: 'auto' },
        },
      },
      ({ model }) => model,
    ),
    roots: asking({ method: 'roots/list' }, ({ roots }) => roots.map(({ uri }) => uri)),
    log: async ({ mcpReq }) => {
      await mcpReq.log('debug', 'quiet');
      await mcpReq.log('warning', 'loud');
      return text('logged');
    },
    steps: async ({ mcpReq: { _meta, notify } }) => {
      for (const progress of [1, 2, 3]) {
        const params = {
          progressToken: _meta.progressToken,
          progress,
          total: 3,
          message: `${progress} of 3`,
        };
        await notify({ method: 'notifications/progress', params });
      }
      return text('done');
    },
    wait: async ({ mcpReq: { _meta, notify, signal } }) => {
      await notify({
        method: 'notifications/progress',
        params: { progressToken: _meta.progressToken, progress: 1 },
      });
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      seen.aborted++;
      return text('aborted');
    },
    client: ({ mcpReq: { envelope } }) =>
      text(JSON.stringify(envelope['io.modelcontextprotocol/clientCapabilities'])),
    aborted: () => text(seen.aborted),
    change: async () => {
      await server.sendToolListChanged();
      await server.sendResourceUpdated({ uri: thing });
      return text(thing);
    },
  };
  for (const [name, run] of Object.entries(tools)) mcp.registerTool(name, {}, run);
  mcp.registerResource('thing', thing, {}, async (uri) => ({
    contents: [{ uri: uri.href, text: 'a thing' }],
  }));
  mcp.registerPrompt('greet', {}, () => ({
    messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }],
  }));
  server.setRequestHandler('completion/complete', ({ params: { argument } }) => ({
    completion: { values: [`${argument.value}lin`] },
  }));
  return mcp;
}

serveStdio(makeServer, { legacy: 'reject' });
