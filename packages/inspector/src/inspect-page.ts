/** A local page that shows sessions and connections live. While no page is open, it listens to none. */
import { PageSessions } from './page-sessions.ts';
import type { Watched } from './page-sessions.ts';
import { answerPage } from './page-answers.ts';
import { serveLoopback } from './loopback-server.ts';

/** Where the page listens, and what it may show. */
export interface InspectPageOptions {
  /** By default any free port. */
  readonly port?: number;
}

/** A page being served. */
export interface InspectedPage extends AsyncDisposable {
  /** Open this in a browser on this machine. It contains the token that grants access. */
  readonly url: string;
  /**
   * For `listen(transport, { watchers: [page.watcher] })` and `connect(entry, { watchers:
   * [page.watcher] })`, for any number of both.
   */
  readonly watcher: (watched: Watched) => void;
  /** Tells a page without a session yet where clients are served: a URL, for people. */
  serves(place: string): void;
  /** Stops serving and closes all open pages. Sessions and connections go on. */
  close(): Promise<void>;
}

/**
 * Serves a page on 127.0.0.1 that shows the sessions and connections it watches: their charts, actors, messages,
 * and what is pending.
 *
 * @throws {Error} the port is not available, in a sentence; its `code` is Node's own, such as EADDRINUSE
 */
export async function inspectPage({ port = 0 }: InspectPageOptions = {}): Promise<InspectedPage> {
  const sessions = new PageSessions();
  const server = await serveLoopback(port, answerPage(sessions));
  const close = async () => {
    sessions.close();
    await server.close();
  };
  const serves = (place: string) => sessions.serves(place);
  return { url: server.url, watcher: sessions.watch, serves, close, [Symbol.asyncDispose]: close };
}
