/** A client that is nothing but a socket: it sends bytes, and sees bytes. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A connection that is closed when the test is over. */
export function socketTo(url: URL): Socket {
  const socket = connect({ port: Number(url.port), host: '127.0.0.1', allowHalfOpen: true });
  // A connection that the server resets is told of by its close.
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Sends bytes, and gives all that comes until the server closes the connection. */
export async function sendBytes(url: URL, bytes: string): Promise<string> {
  const socket = socketTo(url);
  const closed = new Promise<string>((resolve) => {
    let got = '';
    socket.on('data', (chunk) => {
      got += String(chunk);
    });
    socket.once('end', () => socket.end());
    socket.once('close', () => resolve(got));
  });
  socket.write(bytes, 'latin1');
  return closed;
}

/** The statuses of the answers on a connection, in order. */
export const statusesOf = (answers: string): readonly number[] =>
  [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

export interface WireRequest {
  /** Method, target and version. */
  readonly line?: string;
  /** One line each; the order is kept. */
  readonly headers: readonly string[];
  readonly body?: string;
}

/** A request as it is written, with nothing added. */
export function wire({ line = 'POST /mcp HTTP/1.1', headers, body = '' }: WireRequest): string {
  return [line, ...headers, '', body].join('\r\n');
}

/** The POST of a message. */
export function posted(
  url: URL,
  message: object,
  headers: { readonly [name: string]: string },
): string {
  const body = JSON.stringify(message);
  const all = {
    Host: url.host,
    'Content-Type': 'application/json',
    'Content-Length': `${body.length}`,
    ...headers,
  };
  return wire({ headers: Object.entries(all).map((pair) => pair.join(': ')), body });
}

/** A request after which the server closes the connection: what comes before it has been answered. */
export function lastRequest(url: URL): string {
  return wire({
    line: 'PUT /mcp HTTP/1.1',
    headers: [`Host: ${url.host}`, 'Connection: close', 'Content-Length: 0'],
  });
}
