/** The script of a page that is a client of an endpoint of another origin. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const clientInfo = { name: 'page', version: '1' };

/** A session: asked for its roots within a call, told of a change on its own stream, ended. */
window.useSession = async (url) => {
  const client = new LegacyClient(clientInfo, { capabilities: { roots: {} } });
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///page' }] }));
  const told = new Promise((resolve) => {
    client.fallbackNotificationHandler = async ({ method }) => resolve(method);
  });
  const transport = new LegacyTransport(new URL(url));
  await client.connect(transport);
  const { sessionId, protocolVersion } = transport;
  const { content } = await client.callTool({ name: 'roots' });
  await client.callTool({ name: 'push' });
  const push = await told;
  await transport.terminateSession();
  await client.close();
  return { hasSession: typeof sessionId === 'string', protocolVersion, content, push };
};

/** Requests without a session, whose headers repeat what is in them. */
window.useModern = async (url) => {
  const mode = { pin: '2026-07-28' };
  const client = new Client(clientInfo, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { content } = await client.callTool({ name: 'page' });
  await client.close();
  return content;
};

/** What the page may see of a bare request: its status, and a header. */
window.look = async (url, header) => {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  return fetch(url, { method: 'POST', headers, body }).then(
    (response) => [response.status, response.headers.get(header)],
    (error) => String(error),
  );
};
