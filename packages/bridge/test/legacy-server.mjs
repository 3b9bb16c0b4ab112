/** A server of the legacy era, of the official SDK, that does one thing with each tool. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CompleteRequestSchema,
  RootsListChangedNotificationSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

const mcp = new McpServer(
  { name: 'legacy', version: '1.0.0', title: 'Of the legacy era' },
  {
    instructions: 'Call what you like',
    capabilities: { logging: {}, completions: {}, resources: { subscribe: true } },
  },
);
const { server } = mcp;
const text = (said) => ({ content: [{ type: 'text', text: String(said) }] });
const seen = { rootsChanged: 0, aborted: 0 };
const subscribed = new Set();
const released = [];
const message = { role: 'user', content: { type: 'text', text: 'Say something' } };
const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };
const lookup = { name: 'lookup', inputSchema: { type: 'object' } };

const tools = {
  echo: (_args, extra) => ({
    ...text('said'),
    _meta: { 'example.org/seen': extra._meta ?? {} },
    unknown: [1],
  }),
  form: async () =>
    text(JSON.stringify(await server.elicitInput({ message: 'Who?', requestedSchema }))),
  url: async () => {
    const elicitationId = 'e-1';
    const params = { mode: 'url', message: 'Open it', url: 'https://example.org/x', elicitationId };
    const { action } = await server.elicitInput(params);
    await server.notification({
      method: 'notifications/elicitation/complete',
      params: { elicitationId },
    });
    return text(action);
  },
  sample: async () =>
    text((await server.createMessage({ messages: [message], maxTokens: 9 })).content.text),
  'sample-tools': async () => {
    const asked = {
      messages: [message],
      maxTokens: 9,
      tools: [lookup],
      toolChoice: { mode: 'auto' },
    };
    return text((await server.createMessage(asked)).model);
  },
  roots: async () => text((await server.listRoots()).roots.map(({ uri }) => uri)),
  client: () => text(JSON.stringify(server.getClientCapabilities())),
  'roots-changed': () => text(seen.rootsChanged),
  log: async () => {
    await server.sendLoggingMessage({ level: 'debug', data: 'quiet' });
    await server.sendLoggingMessage({ level: 'warning', data: 'loud' });
    return text('logged');
  },
  steps: async (_args, { _meta, sendNotification }) => {
    for (const progress of [1, 2, 3]) {
      const params = {
        progressToken: _meta.progressToken,
        progress,
        total: 3,
        message: `${progress} of 3`,
      };
      await sendNotification({ method: 'notifications/progress', params });
    }
    return text('done');
  },
  wait: async (_args, { _meta, signal, sendNotification }) => {
    const params = { progressToken: _meta.progressToken, progress: 1 };
    await sendNotification({ method: 'notifications/progress', params });
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    seen.aborted++;
    return text('aborted');
  },
  // These wait until `go` is called: then the one asks, and the other ends.
  'ask-later': async () => {
    await new Promise((resolve) => released.unshift(resolve));
    return text((await server.elicitInput({ message: 'Later?', requestedSchema })).action);
  },
  hold: async () => {
    await new Promise((resolve) => released.push(resolve));
    return text('held');
  },
  held: () => text(released.length),
  go: () => {
    for (const release of released.splice(0)) release();
    return text('gone');
  },
  aborted: () => text(seen.aborted),
  withdraw: async () => {
    const given = new AbortController();
    withdraw = () => given.abort('not needed');
    const asked = server.createMessage(
      { messages: [message], maxTokens: 1 },
      { signal: given.signal },
    );
    return text(
      await asked.then(
        () => 'answered',
        () => 'withdrawn',
      ),
    );
  },
  'withdraw-now': () => {
    withdraw();
    return text('told');
  },
  change: async () => {
    await server.sendToolListChanged();
    for (const uri of subscribed) await server.sendResourceUpdated({ uri });
    return text([...subscribed]);
  },
  fail: () => {
    throw Object.assign(new Error('no'), { code: -31999 });
  },
};
let withdraw = () => {};

for (const [name, run] of Object.entries(tools)) {
  mcp.registerTool(name, { inputSchema: {} }, run);
}
mcp.registerResource('thing', 'test://thing', {}, async (uri) => ({
  contents: [{ uri: uri.href, text: 'a thing' }],
}));
server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
  if (uri === 'test://locked') throw new Error('it is locked');
  subscribed.add(uri);
  return {};
});
server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
  if (uri === 'test://kept') throw new Error('it is kept');
  subscribed.delete(uri);
  return {};
});
if (process.argv.includes('--loud')) {
  server.setRequestHandler(SetLevelRequestSchema, () => {
    throw new Error('it is loud');
  });
}
server.setRequestHandler(CompleteRequestSchema, ({ params: { argument } }) => ({
  completion: { values: [`${argument.value}lin`] },
}));
server.setNotificationHandler(RootsListChangedNotificationSchema, () => {
  seen.rootsChanged++;
});
mcp.registerPrompt('greet', {}, () => ({
  messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }],
}));
await mcp.connect(new StdioServerTransport());
