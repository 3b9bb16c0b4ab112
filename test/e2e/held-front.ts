/** Load balancer in front of the processes of one server: owns the address, and holds requests while none listens. */
import { createServer, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** How soon a process is tried again that does not listen, ms. */
const againMs = 10;

export class HeldFront {
  /** The port that it leads to. */
  port = 0;
  /** Methods and statuses of the answers. */
  readonly answers: string[] = [];
  readonly #server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => this.#pass(incoming, Buffer.concat(chunks), outgoing));
  });

  async listen(): Promise<URL> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`);
  }

  #pass(incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse): void {
    const { method, url, headers } = incoming;
    const { port } = this;
    const stop = () => to.destroy();
    const to = request({ port, host: '127.0.0.1', method, path: url, headers });
    to.on('response', (answer) => {
      this.answers.push(`${method} ${answer.statusCode}`);
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
    });
    to.on('error', ({ code }: NodeJS.ErrnoException) => {
      outgoing.off('close', stop);
      if (code !== 'ECONNREFUSED') outgoing.destroy();
      else if (!outgoing.destroyed) setTimeout(() => this.#pass(incoming, body, outgoing), againMs);
    });
    outgoing.on('close', stop);
    to.end(body);
  }
}
