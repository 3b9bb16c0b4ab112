/** A small 2026-07-28 server over HTTP with selectable faults. Shares no code with the project. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { bodyOf, listening } from './broken-http.ts';

const revision = '2026-07-28';
const prefix = 'io.modelcontextprotocol';

interface Asked {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: {
    readonly [member: string]: unknown;
    readonly _meta?: { readonly [key: string]: unknown };
  };
}

export async function listenBrokenModern(
  faults: readonly string[],
): Promise<{ readonly url: URL; close(): Promise<void> }> {
  const http = createServer((request, response) => {
    void bodyOf(request).then((body) => serve(faults, request, response, body));
  });
  const url = await listening(http);
  return {
    url,
    close: async () => {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}

function serve(
  faults: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
): void {
  const has = (fault: string) => faults.includes(fault);
  const { headers } = request;
  if (request.method !== 'POST') {
    const status = has('takes-get') ? 200 : has('keeps-sessions') ? 400 : 405;
    return void response.writeHead(status).end();
  }
  if (headers.origin !== undefined) return void response.writeHead(403).end();
  const { id, method, params = {} } = JSON.parse(body) as Asked;
  const minted = has('mints') ? { 'mcp-session-id': 'minted' } : {};
  const send = (status: number, message: object) => {
    response.writeHead(has('200-for-errors') ? 200 : status, {
      ...minted,
      'content-type': 'application/json',
    });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...message }));
  };
  const refuse = (status: number, code: number, data?: object) =>
    send(status, { error: { code, message: 'refused', ...(data ? { data } : {}) } });
  const result = (value: object) =>
    send(200, { result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...value } });
  if (id === undefined) return void response.writeHead(202).end();
  if (has('needs-no-session') && 'mcp-session-id' in headers) return refuse(404, -32_600);
  const version = params._meta?.[`${prefix}/protocolVersion`];
  if (version === undefined) return refuse(400, -32_602);
  const header = headers['mcp-protocol-version'];
  if (has('routes-by-header') && header !== revision) {
    // Responds like a transport of earlier revisions to a request without a session.
    response.writeHead(400, { 'content-type': 'application/json' });
    const error = { code: -32_000, message: 'Server not initialized' };
    return void response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
  }
  if (has('version-first') && header !== revision) {
    return refuse(400, -32_022, { supported: [revision] });
  }
  const name = params['name'] ?? params['uri'];
  const told = String(headers['mcp-name']);
  const encoded = /^=\?base64\?(.*)\?=$/.exec(told)?.[1];
  const decoded =
    encoded === undefined || has('raw-name')
      ? told
      : Buffer.from(encoded, 'base64').toString('utf8');
  const matches =
    headers['mcp-protocol-version'] === version &&
    headers['mcp-method'] === method &&
    (name === undefined || decoded === name);
  if (!matches && !has('any-header')) return refuse(400, -32_020);
  if (version !== revision) return refuse(400, -32_022, { supported: [revision] });
  switch (method) {
    case 'server/discover':
      return result({
        supportedVersions: has('dual-era') ? [revision, '2025-11-25'] : [revision],
        capabilities: { tools: {}, resources: {} },
        _meta: { [`${prefix}/serverInfo`]: { name: 'small', version: '1' } },
      });
    case 'tools/list':
      return result({ tools: [{ name: 'slow', inputSchema: { type: 'object' } }] });
    case 'resources/list':
      return result({ resources: [] });
    case 'resources/templates/list':
      return result({ resourceTemplates: [] });
    case 'resources/read':
      return refuse(400, -32_602);
    case 'tools/call':
      return result({ content: [] });
    case 'subscriptions/listen': {
      if (has('listens-as-json')) return result({});
      if (has('limits-listen'))
        return send(200, { error: { code: -32_603, message: 'Subscription limit reached' } });
      const buffering = has('buffered') ? {} : { 'x-accel-buffering': 'no' };
      response.writeHead(200, { ...buffering, 'content-type': 'text/event-stream' });
      const acknowledged = {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { _meta: { [`${prefix}/subscriptionId`]: id }, notifications: {} },
      };
      return void response.write(`data: ${JSON.stringify(acknowledged)}\n\n`);
    }
    default:
      return refuse(404, -32_601);
  }
}
