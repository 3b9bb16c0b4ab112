/** A server that answers as its script says, over real sockets, and notes what it was asked. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { keptAlive } from '../../../http/test/serving.ts';

/** A request, with its message if it has one. */
export interface Scripted {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly message:
    | { readonly id?: unknown; readonly method?: string; readonly params?: JsonObject }
    | undefined;
  /** Answers with JSON. */
  json(body: unknown, status?: number, headers?: Record<string, string>): void;
  /** Answers with a text. */
  text(body: string, type: string, status?: number): void;
  /** Begins a stream of events. */
  stream(headers?: Record<string, string>): void;
  /** Writes an event to it. */
  event(message: unknown, id?: string): void;
  /** A result as the answer. */
  result(result?: object, headers?: Record<string, string>): void;
}

export interface ScriptedServer {
  readonly url: URL;
  /** Everything that was asked, in order. */
  readonly asked: Scripted[];
  /** The first request that fits, now or later. */
  next(fits: (asked: Scripted) => boolean): Promise<Scripted>;
  /** Nobody listens any more; connections are cut. */
  stop(): Promise<void>;
}

export async function scriptedServer(
  script: (asked: Scripted) => unknown,
  port = 0,
): Promise<ScriptedServer> {
  const asked: Scripted[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer(keptAlive, (request, response) => {
    void read(request).then((body) => {
      const scripted = scriptedOf(request, response, body);
      asked.push(scripted);
      for (const look of waiting.splice(0)) look();
      return script(scripted);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve);
  });
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(stop);
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`),
    asked,
    stop,
    next: async (fits) => {
      for (;;) {
        const found = asked.find(fits);
        if (found) return found;
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
      }
    },
  };
}

async function read(request: IncomingMessage): Promise<string> {
  let body = '';
  try {
    for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
  } catch {
    // The host has left.
  }
  return body;
}

function scriptedOf(request: IncomingMessage, response: ServerResponse, body: string): Scripted {
  const message = body === '' ? undefined : (JSON.parse(body) as Scripted['message']);
  const { method = '', url = '', headers } = request;
  const json: Scripted['json'] = (value, status = 200, more = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...more });
    response.end(JSON.stringify(value));
  };
  return {
    ...{ request, response, method, path: url, headers, message, json },
    text: (text, type, status = 200) => {
      response.writeHead(status, type === '' ? {} : { 'content-type': type });
      response.end(text);
    },
    stream: (more = {}) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', ...more });
      response.flushHeaders();
    },
    event: (value, id) => {
      const data = typeof value === 'string' ? value : JSON.stringify(value);
      response.write(`${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`);
    },
    result: (result = {}, more) => json({ jsonrpc: '2.0', id: message?.id, result }, 200, more),
  };
}

/** Answers the handshake of the legacy era, in a session. @returns whether it was that */
export function greeted(asked: Scripted, session = 's-1'): boolean {
  const { method } = asked.message ?? {};
  if (method === 'initialize') {
    const protocolVersion = asked.message?.params?.['protocolVersion'];
    const serverInfo = { name: 'scripted', version: '1' };
    asked.result({ protocolVersion, capabilities: {}, serverInfo }, { 'mcp-session-id': session });
  } else if (asked.message && !('id' in asked.message)) {
    asked.response.writeHead(202).end();
  } else if (asked.method === 'GET' || asked.method === 'DELETE') {
    asked.response.writeHead(405).end();
  } else return false;
  return true;
}
