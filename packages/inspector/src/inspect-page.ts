/**
 * Local web page that shows sessions and connections live. Without an open page, it subscribes to
 * nothing.
 */
import { PageSessions } from './page-sessions.ts';
import type { Watched } from './page-sessions.ts';
import { pageHandler } from './page-answers.ts';
import { serveLoopback } from './loopback-server.ts';

/** Options of the inspector's page. */
export interface InspectPageOptions {
  /** TCP port. Default: any free port. */
  readonly port?: number;
}

/** A served inspector page. */
export interface InspectedPage extends AsyncDisposable {
  /** Page address on this machine. It contains the access token. */
  readonly url: string;
  /**
   * Watcher for `listen(transport, { watchers: [page.watcher] })` and `connect(entry, { watchers:
   * [page.watcher] })`. Accepts any number of both.
   */
  readonly watcher: (watched: Watched) => void;
  /**
   * Adds a URL at which the server accepts clients. The page shows it until the first session
   * starts.
   */
  addEndpoint(place: string): void;
  /** Stops serving and closes all open pages. Sessions and connections stay open. */
  close(): Promise<void>;
}

/**
 * Serves a page on 127.0.0.1 with the charts, actors, messages and pending requests of watched
 * sessions and connections.
 *
 * @throws {Error} if the port is unavailable; `code` is Node's, such as EADDRINUSE
 */
export async function inspectPage({ port = 0 }: InspectPageOptions = {}): Promise<InspectedPage> {
  const sessions = new PageSessions();
  const server = await serveLoopback(port, pageHandler(sessions));
  const close = async () => {
    sessions.close();
    await server.close();
  };
  const serves = (place: string) => sessions.addEndpoint(place);
  return {
    url: server.url,
    watcher: sessions.watch,
    addEndpoint: serves,
    close,
    [Symbol.asyncDispose]: close,
  };
}
