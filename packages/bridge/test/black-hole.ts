/** A network between two peers that loses everything from some moment on, and tells neither of them. */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface BlackHole {
  /** The way to the other side. */
  readonly url: URL;
  /**
   * The streams that are open now lose all that is sent. Other connections, and those that come later,
   * do not.
   */
  swallow(): void;
  /** How many streams were asked for with GET since that. */
  readonly streams: number;
}

/** @param to where the other side listens, on loopback */
export async function blackHole(to: URL): Promise<BlackHole> {
  const pairs: (readonly [Socket, Socket])[] = [];
  /** The last request of each is a GET. */
  const streaming = new Set<Socket>();
  let streams = 0;
  const proxy = createServer((near) => {
    const far = connect(Number(to.port), to.hostname);
    const pair = [near, far] as const;
    pairs.push(pair);
    near.on('data', (chunk) => {
      if (!/^[A-Z]+ \//.test(chunk.toString('latin1'))) return;
      streaming.delete(near);
      if (!chunk.toString('latin1').startsWith('GET ')) return;
      streaming.add(near);
      streams++;
    });
    for (const [one, other] of [pair, [far, near] as const]) {
      one.on('error', () => {});
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(async () => {
    const closed = new Promise((resolve) => proxy.close(resolve));
    for (const socket of pairs.flat()) socket.destroy();
    await closed;
  });
  const url = new URL(to);
  url.port = String((proxy.address() as AddressInfo).port);
  return {
    url,
    swallow: () => {
      for (const pair of pairs) {
        if (!streaming.has(pair[0])) continue;
        // Not even that one of them has ended is heard.
        for (const socket of pair) socket.unpipe().removeAllListeners('end').resume();
      }
      streams = 0;
    },
    get streams() {
      return streams;
    },
  };
}
