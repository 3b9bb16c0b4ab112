/** A load balancer without affinity: each request goes to the next available node. */
import { createServer, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export class RoundRobin {
  readonly url: URL;
  /** The nodes' endpoints; may change at any time. */
  nodes: URL[];
  #next = 0;
  /** Requests in progress at nodes. */
  readonly #open = new Map<Promise<unknown>, URL>();

  private constructor(port: number, nodes: readonly URL[]) {
    this.url = new URL(`http://127.0.0.1:${port}/mcp`);
    this.nodes = [...nodes];
  }

  /** Listens until the test is over. */
  static async start(nodes: readonly URL[]): Promise<RoundRobin> {
    const http = createServer((incoming, answer) => void balancer.#take(incoming, answer));
    // Keeps connections open for reuse.
    http.keepAliveTimeout = 0;
    await new Promise<void>((resolve) => {
      http.listen(0, '127.0.0.1', resolve);
    });
    const balancer = new RoundRobin((http.address() as AddressInfo).port, nodes);
    onTestFinished(async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    });
    return balancer;
  }

  replace(old: URL, ...by: readonly URL[]): void {
    this.nodes = [...this.nodes.filter((node) => node !== old), ...by];
  }

  /** Resolves once no POST is at a node that was replaced. */
  async drained(old: URL): Promise<void> {
    await Promise.all([...this.#open].flatMap(([end, node]) => (node === old ? end : [])));
  }

  async #take(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    this.#try(incoming, answer, Buffer.concat(chunks), this.nodes.length);
  }

  #try(incoming: IncomingMessage, answer: ServerResponse, body: Buffer, tries: number): void {
    const node = this.nodes[this.#next++ % this.nodes.length];
    if (!node || tries === 0) {
      answer.writeHead(502).end();
      return;
    }
    const { method, headers } = incoming;
    const outgoing = request(node, {
      method,
      headers: { ...headers, host: node.host },
      agent: false,
    });
    outgoing.once('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
      response.once('error', () => answer.destroy());
      answer.once('close', () => outgoing.destroy());
    });
    outgoing.once('error', (error: NodeJS.ErrnoException) => {
      // Only requests that certainly reached no node may be retried.
      if (error.code === 'ECONNREFUSED') this.#try(incoming, answer, body, tries - 1);
      else answer.destroy();
    });
    // A GET stream ends with its node.
    if (method === 'POST') {
      const closed = new Promise<void>((resolve) => outgoing.once('close', resolve));
      this.#open.set(closed, node);
      void closed.then(() => this.#open.delete(closed));
    }
    outgoing.end(body);
  }
}
