import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below those that a system gives to whoever asks for any port: no other server takes it by chance before it is used. Nor the one that
 * a Redis of a cluster listens at besides, which is 10,000 above.
 */
const [first, count] = [11_000, 10_000];

/** A port of 127.0.0.1 on which nobody listens, for a process that is told where to listen. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + Math.floor(Math.random() * count);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
