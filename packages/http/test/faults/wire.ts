/** A client on a bare socket. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A connection that closes with the test. */
export function socketTo(url: URL): Socket {
  const socket = connect({ port: Number(url.port), host: '127.0.0.1', allowHalfOpen: true });
  // A reset is reported by `close`.
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Sends bytes and returns everything received until the server closes. */
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

/** Statuses of the responses on a connection, in order. */
export const statusesOf = (answers: string): readonly number[] =>
  [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

export interface WireRequest {
  /** Request line. */
  readonly line?: string;
  /** Header lines, in order. */
  readonly headers: readonly string[];
  readonly body?: string;
}

/** A request exactly as given. */
export function wire({ line = 'POST /mcp HTTP/1.1', headers, body = '' }: WireRequest): string {
  return [line, ...headers, '', body].join('\r\n');
}

/** A POST of a message. */
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

/** A request that makes the server close the connection, after answering all earlier ones. */
export function lastRequest(url: URL): string {
  return wire({
    line: 'PUT /mcp HTTP/1.1',
    headers: [`Host: ${url.host}`, 'Connection: close', 'Content-Length: 0'],
  });
}
