/** Official clients that get, renew and step up tokens according to our challenges. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport as LegacySdkTransport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { createMcpServer, defineTool } from 'mcp-actors';
import { expect, onTestFinished, test } from 'vitest';
import { createAuthorizer } from '../../src/auth/authorizer.ts';
import type { AuthorizationRefusal, Authorizer } from '../../src/auth/authorizer.ts';
import { requiredScopes } from '../../src/request-authorization.ts';
import { nodeHandler } from '../../src/node/index.ts';
import { modern } from '../../../../test/e2e/both-eras-client.ts';
import { AuthorizationServer } from '../authorization-server.ts';
import { AutoApprovingClient } from './oauth-client.ts';

const notes = createMcpServer({
  name: 'notes',
  version: '1',
  tools: [
    defineTool({ name: 'read', description: 'Reads', handler: () => 'read' }),
    defineTool({
      name: 'write',
      description: 'Writes',
      scopes: ['notes:write'],
      handler: () => 'written',
    }),
  ],
});

/** A server that requires tokens. */
async function startNotes() {
  const issuer = await AuthorizationServer.start();
  const handler = nodeHandler(notes);
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  const authorizer = createAuthorizer({
    issuer: issuer.issuer,
    audience: url.href,
    requiredScopes: ['notes:read'],
  });
  http.on('request', (request, response) => void admit(authorizer, request, response, handler));
  onTestFinished(async () => {
    await handler.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
    await issuer.close();
  });
  return { issuer, url };
}

async function admit(
  authorizer: Authorizer,
  request: IncomingMessage & { body?: unknown },
  response: ServerResponse,
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<void> {
  const { url: target = '/', headers, method } = request;
  if (authorizer.metadataPaths.includes(target)) {
    response.setHeader('content-type', 'application/json');
    return void response.end(JSON.stringify(authorizer.metadata));
  }
  const refuse = ({ status, headers: challenge, message }: AuthorizationRefusal) =>
    void response.writeHead(status, challenge).end(message);
  const header = (name: string) => headers[name]?.toString();
  const given = await authorizer.authenticate({ target, header });
  if (!given.ok) return refuse(given);
  if (method === 'POST') request.body = await json(request);
  const lacking = authorizer.requireScopes(
    given.principal,
    requiredScopes(request.body, notes.tools),
  );
  if (lacking) return refuse(lacking);
  handler(request, response);
}

interface Connected {
  call(name: string): Promise<unknown>;
  close(): Promise<void>;
}

/** How each client connects, and continues after the user has approved. */
const clients = {
  'sdk 1, 2025-11-25': async (url: URL, person: AutoApprovingClient) => {
    const open = () => new LegacyTransport(url, { authProvider: person as never });
    let transport = open();
    const client = new LegacyClient({ name: 'client', version: '1' });
    const connect = () => client.connect(transport as LegacySdkTransport);
    await connect().catch(async () => {
      await transport.finishAuth(person.callback.get('code') ?? '');
      transport = open();
      await connect();
    });
    return {
      call: (name: string) => client.callTool({ name }),
      agreed: () => transport.finishAuth(person.callback.get('code') ?? ''),
      close: () => client.close(),
    };
  },
  'sdk 2, 2025-11-25': (url: URL, person: AutoApprovingClient) => connectNew(url, person, 'legacy'),
  'sdk 2, 2026-07-28': (url: URL, person: AutoApprovingClient) => connectNew(url, person, modern),
} satisfies Record<
  string,
  (url: URL, person: AutoApprovingClient) => Promise<Connected & { agreed(): Promise<void> }>
>;

async function connectNew(url: URL, person: AutoApprovingClient, mode: 'legacy' | typeof modern) {
  const open = () => new StreamableHTTPClientTransport(url, { authProvider: person });
  const make = () => new Client({ name: 'client', version: '1' }, { versionNegotiation: { mode } });
  let [transport, client] = [open(), make()];
  await client.connect(transport).catch(async () => {
    await transport.finishAuth(person.callback);
    [transport, client] = [open(), make()];
    await client.connect(transport);
  });
  return {
    call: (name: string) => client.callTool({ name }),
    agreed: () => transport.finishAuth(person.callback),
    close: () => client.close(),
  };
}

const said = (text: string) => ({ content: [{ type: 'text', text }] });

test.each(Object.entries(clients))(
  'lets the official client %s discover the issuer, get and renew a token, and step up its scopes',
  async (_, connect) => {
    const { issuer, url } = await startNotes();
    const person = new AutoApprovingClient();
    const client = await connect(url, person);
    onTestFinished(() => client.close());
    expect(await client.call('read')).toMatchObject(said('read'));
    expect(person.asked).toEqual(['notes:read']);

    // An expired token is renewed without the user.
    const expired = { aud: url.href, scope: 'notes:read', exp: 1 };
    person.present(await issuer.issue(expired));
    expect(await client.call('read')).toMatchObject(said('read'));
    expect(person.asked).toHaveLength(1);

    // A missing scope requires another approval.
    person.forgetRefreshToken();
    await expect(client.call('write')).rejects.toThrow();
    expect(person.asked.at(-1)?.split(' ').toSorted()).toEqual(['notes:read', 'notes:write']);
    await client.agreed();
    expect(await client.call('write')).toMatchObject(said('written'));
    expect(await client.call('read')).toMatchObject(said('read'));
    expect(person.asked).toHaveLength(2);
  },
);
