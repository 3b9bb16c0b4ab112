/** A way over TCP, to a Redis, a Postgres or a node, which can be cut, stalled or made long. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export class StoreProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** `cut`: who connects is hung up on. `stalled`: connections are made and hold, and nothing passes. */
  #way: 'open' | 'cut' | 'stalled' = 'open';
  /** Lets pass what has been stalled. */
  #stalled: (() => void)[] = [];
  #delayMs = 0;
  /** Where it listens, once that is to stay so. */
  #port = 0;
  /** How many parts of answers pass until one does not, and its connection breaks. */
  #passing = Infinity;

  /** Where it leads. */
  #to: number;

  private constructor(port: number) {
    this.#to = port;
    this.#server = createServer((near) => this.#join(near)).listen(0, '127.0.0.1');
  }

  /** It leads to another port of this machine from now on. */
  leadTo(port: number): void {
    this.#to = port;
  }

  /** A way to the server at a port of this machine. */
  static async to(port: number): Promise<StoreProxy> {
    const proxy = new StoreProxy(port);
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return this.#port || (this.#server.address() as AddressInfo).port;
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

  /** Nothing passes from now on, and no connection breaks: as by a network that loses all packets. */
  stall(): void {
    this.#way = 'stalled';
  }

  /** Refuses connections, and breaks those that there are: as of a process that is no more. */
  async refuse(): Promise<void> {
    const closed = once(this.#server, 'close');
    const { port } = this;
    this.#port = port;
    this.#server.close();
    this.breakAll();
    await closed;
  }

  /** Takes connections again after {@link refuse}. */
  async accept(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  heal(): void {
    this.#way = 'open';
    this.#delayMs = 0;
    for (const pass of this.#stalled.splice(0)) pass();
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
    for (const pass of this.#stalled.splice(0)) pass();
    this.#server.close();
  }

  #join(near: Socket): void {
    if (this.#way === 'cut') return void near.destroy();
    const far = connect(this.#to, '127.0.0.1');
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
        if (this.#way === 'stalled') await new Promise<void>((pass) => this.#stalled.push(pass));
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
