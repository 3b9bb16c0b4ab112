/** A server of ours that admits nobody without a token for it, and requests as a host makes them. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpServer, defineTool } from 'mcp-actors';
import { onTestFinished } from 'vitest';
import type { HttpAuthorization } from '../../src/http/authorization.ts';
import { AuthorizationServer } from '../../../http/test/authorization-server.ts';
import { request } from '../../../http/test/modern/modern-client.ts';
import { messagesOf } from '../../../http/test/raw-client.ts';
import { serveEndpoint } from '../../../http/test/serving.ts';

const notes = createMcpServer({
  name: 'notes',
  version: '1',
  tools: [
    defineTool({ name: 'read', description: 'Reads', handler: () => 'read' }),
    ...['write', 'share'].map((name) =>
      defineTool({
        name,
        description: 'Does more',
        scopes: [`notes:${name}`],
        handler: () => name,
      }),
    ),
  ],
});

export interface Protected {
  /** Who gives tokens for it. Its tokens are introspected, so that one can be revoked. */
  readonly issuer: AuthorizationServer;
  readonly url: URL;
}

type IssuerOptions = Parameters<typeof AuthorizationServer.start>[0];

/** Every token is checked each time, however slow the machine is. */
const limits = { tokenCacheMs: 0, maxIntrospections: 200, fetchTimeoutMs: 60_000 };

export async function startProtected(options: IssuerOptions = {}): Promise<Protected> {
  const issuer = await AuthorizationServer.start({ tokens: 'opaque', ...options });
  onTestFinished(async () => {
    await issuer.close();
  });
  const { url } = await serveEndpoint(notes, ({ href }) => ({
    authorization: {
      issuer: issuer.issuer,
      audience: href,
      introspection: issuer.introspector,
      requiredScopes: ['notes:read'],
      limits,
    },
  }));
  return { issuer, url };
}

/** A challenge with metadata, until the test is over, by which the server has another issuer. */
export async function challengeNaming(
  url: URL,
  { issuer }: Pick<AuthorizationServer, 'issuer'>,
  more: object = {},
): Promise<string> {
  const metadata = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    const own = { resource: url.href, authorization_servers: [issuer] };
    response.end(JSON.stringify({ ...own, ...more }));
  });
  await new Promise<void>((resolve) => metadata.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void metadata.close());
  const { port } = metadata.address() as AddressInfo;
  return `Bearer resource_metadata="http://127.0.0.1:${port}/", scope="notes:read"`;
}

/** What became of a call: the text of its result, or why it was refused. */
export type Called =
  | { readonly text: string | undefined; readonly status: number }
  | { readonly kind: 'refused' | 'unreachable'; readonly error: Error };

/** Calls a tool, as the HTTP of a host does: again after each `retry`. */
export async function call(
  authorization: HttpAuthorization,
  url: URL,
  tool: string,
  signal?: AbortSignal,
): Promise<Called> {
  for (let retries = 0; ; retries++) {
    const sent = await authorization.headers(url.href);
    const params = { name: tool, arguments: {} };
    const response = await request(url, 'tools/call', params, { headers: sent });
    const { status, headers } = response;
    const frames = await messagesOf(response);
    if (status !== 401 && status !== 403) {
      const content = frames.at(-1)?.result?.['content'] as { readonly text: string }[] | undefined;
      return { text: content?.[0]?.text, status };
    }
    const outcome = await authorization.challenged({
      status,
      wwwAuthenticate: headers.get('www-authenticate') ?? undefined,
      url: url.href,
      sent,
      retries,
      ...(signal ? { signal } : {}),
    });
    if (outcome.kind !== 'retry') return outcome;
  }
}

/** A person who agrees to everything at once: gives the URL that the authorization server sends them to. */
export async function agree(url: URL): Promise<string> {
  const response = await fetch(url, { redirect: 'manual' });
  const location = response.headers.get('location');
  if (location === null) throw new Error(`It was not agreed to: ${await response.text()}`);
  return location;
}

/** A person who agrees, and what they were asked for each time. */
export function person() {
  const scopes: (string | null)[] = [];
  const visit = async (url: URL): Promise<string> => {
    scopes.push(url.searchParams.get('scope'));
    return await agree(url);
  };
  return { scopes, visit };
}
