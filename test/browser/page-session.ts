/** Runs in a page: a server, its session over memory, and a client. */
import { createMcpServer, defineTool, memory } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: JsonObject;
}

/** A page's API; the compiler knows only Node. */
declare const location: { readonly pathname: string };

async function run(): Promise<object> {
  const server = createMcpServer({
    name: 'in-the-page',
    version: '1.0.0',
    tools: [
      defineTool({
        name: 'greet',
        description: 'Greets, and says where the client works.',
        inputSchema: {
          type: 'object',
          properties: { who: { type: 'string', minLength: 1 } },
          required: ['who'],
        },
        handler: async ({ who }, { roots }) => `${who} at ${(await roots()).roots[0]?.uri}`,
      }),
    ],
  });
  const { transport, peer } = memory();
  const answers = new Map<unknown, (message: Message) => void>();
  peer.received$.subscribe((received) => {
    const message = received as Message;
    if (message.method === 'roots/list') {
      const result = { roots: [{ uri: `file://${location.pathname}` }] };
      peer.send({ jsonrpc: '2.0', id: message.id, result });
    } else {
      answers.get(message.id)?.(message);
    }
  });
  const session = server.listen(transport);
  const states: string[] = [];
  session.state$.subscribe((state) => states.push(state));
  let count = 0;
  const ask = (method: string, params: object) => {
    const id = ++count;
    peer.send({ jsonrpc: '2.0', id, method, params });
    return new Promise<Message>((resolve) => answers.set(id, resolve));
  };

  const { result } = await ask('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: { roots: {} },
    clientInfo: { name: 'page', version: '1' },
  });
  peer.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  const greeted = await ask('tools/call', { name: 'greet', arguments: { who: 'Ada' } });
  const refused = await ask('tools/call', { name: 'greet', arguments: { who: '' } });
  session.shutdown('the page is done');
  const cause = await session.closed;
  return { server: result?.['serverInfo'], greeted, refused, states, cause };
}

Object.assign(globalThis, { run });
