/** The way of one node to what the nodes share, a Redis or a Postgres, which can be cut or made long. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export class StoreProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** `cut`: who connects is hung up on, as by a network that is down. */
  #way: 'open' | 'cut' = 'open';
  #delayMs = 0;
  /** How many parts of answers pass until one does not, and its connection breaks. */
  #passing = Infinity;

  private constructor(port: number) {
    this.#server = createServer((near) => this.#join(near, port)).listen(0, '127.0.0.1');
  }

  /** A way to the server at a port of this machine. */
  static async to(port: number): Promise<StoreProxy> {
    const proxy = new StoreProxy(port);
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Of a Redis. */
  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Breaks all connections; new ones break, too. */
  cut(): void {
    this.#way = 'cut';
    this.breakAll();
  }

  heal(): void {
    this.#way = 'open';
    this.#delayMs = 0;
  }

  /** From now on what passes takes so long, each way. */
  slow(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Breaks all connections; new ones hold. */
  breakAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** So many parts of answers pass from now on. In the place of the next one its connection breaks, once. */
  loseAnswerAfter(count: number): void {
    this.#passing = count;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #join(near: Socket, port: number): void {
    if (this.#way === 'cut') return void near.destroy();
    const far = connect(port, '127.0.0.1');
    this.#pass(near, far, () => true);
    this.#pass(far, near, () => {
      if (this.#passing-- > 0) return true;
      this.#passing = Infinity;
      return false;
    });
  }

  #pass(from: Socket, to: Socket, passes: () => boolean): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    let sent = Promise.resolve();
    from.on('data', (chunk) => {
      if (!passes()) return void from.destroy();
      const dueAt = performance.now() + this.#delayMs;
      // What came before it goes before it, also if the way was longer then.
      sent = sent.then(async () => {
        const waitMs = dueAt - performance.now();
        if (waitMs > 0) await delay(waitMs);
        to.write(chunk);
      });
    });
    from.on('error', () => {});
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
