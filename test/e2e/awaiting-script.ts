/**
 * A script that awaits the effect of a session's timer or a signal. Nothing else keeps its process
 * alive.
 */
import { createMcpServer, defineTool, fromSdkTransport, memory } from 'mcp-actors';
import type { McpSession, SdkTransport } from 'mcp-actors';

const hang = defineTool({
  name: 'hang',
  description: 'Never answers',
  inputSchema: { type: 'object' },
  handler: () => new Promise<string>(() => {}),
});
const ask = defineTool({
  name: 'ask',
  description: 'Asks the client',
  inputSchema: { type: 'object' },
  handler: async (_, context) => {
    const question = context.request('custom/question', {}, { timeoutMs: 100 });
    const error = await question.catch(({ code }: { code: string }) => code);
    console.error(JSON.stringify({ ask: error }));
    session.shutdown('answered');
    return '';
  },
});
const roots = defineTool({
  name: 'roots',
  description: 'Waits for roots',
  inputSchema: { type: 'object' },
  handler: async (_, context) => {
    const { status } = await context.roots({ timeoutMs: 100 });
    console.error(JSON.stringify({ roots: status }));
    return '';
  },
});

const server = createMcpServer({ name: 'awaited', version: '1', tools: [hang, ask, roots] });
const [what = '', over] = process.argv.slice(2);
const messages = [
  {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: { roots: {} },
      clientInfo: { name: 'script', version: '1' },
    },
  },
  { jsonrpc: '2.0', method: 'notifications/initialized' },
  { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: what, arguments: {} } },
];
const session = over === 'memory' ? overMemory() : overSdkTransport();
if (what === 'hang') session.shutdown('enough');
if (what === 'ping') {
  const failure = session.ping({ timeoutMs: 100 }).catch(({ code }: { code: string }) => code);
  console.error(JSON.stringify({ ping: await failure }));
}
if (what === 'signal') process.once('SIGTERM', () => session.shutdown('SIGTERM'));
if (what === 'signal') console.error(JSON.stringify({ ready: true }));
if (['ask', 'hang', 'signal'].includes(what)) {
  const { kind } = await session.closed;
  console.error(JSON.stringify({ kind }));
}

function overMemory(): McpSession {
  const { transport, peer } = memory();
  const opened = server.listen(transport);
  peer.send(...messages);
  return opened;
}

function overSdkTransport(): McpSession {
  const transport: SdkTransport = {
    start: () => Promise.resolve(),
    send: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const opened = server.listen(fromSdkTransport(transport), { limits: { drainTimeoutMs: 100 } });
  for (const message of messages) transport.onmessage?.(message);
  return opened;
}
