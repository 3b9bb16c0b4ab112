/** A local page that shows sessions live. Nobody is listened to while no page is open. */
import type { Watcher } from '../server/session.ts';
import { PageSessions } from './page-sessions.ts';
import { answerPage } from './page-answers.ts';
import { serveLoopback } from './loopback-server.ts';

export interface InspectPageOptions {
  /** By default one that is free. */
  readonly port?: number;
}

/** A page that is served. */
export interface InspectedPage extends AsyncDisposable {
  /** What to open in a browser of this machine. It holds the token that lets one in. */
  readonly url: string;
  /** For `listen(transport, { watchers: [page.watcher] })`, of as many sessions as there are. */
  readonly watcher: Watcher;
  /** Ends it, and whoever looks at it. The sessions go on. */
  close(): Promise<void>;
}

/**
 * Serves a page on 127.0.0.1 that shows the sessions it watches: their charts, actors, messages, and what is pending.
 *
 * @throws {Error} Node's own, with `code` EADDRINUSE or EACCES, where the port cannot be had
 */
export async function inspectPage({ port = 0 }: InspectPageOptions = {}): Promise<InspectedPage> {
  const sessions = new PageSessions();
  const server = await serveLoopback(port, answerPage(sessions));
  const close = async () => {
    sessions.close();
    await server.close();
  };
  return { url: server.url, watcher: sessions.watch, close, [Symbol.asyncDispose]: close };
}
