/** Sends sessions to XState's official inspector through `@statelyai/inspect`. */
import { createActor } from 'xstate';
import type { WatchedSession } from 'mcp-actors';
import type { WatchedConnection } from 'mcp-actors/client';
import { systemClock } from 'mcp-actors/internal';
import { receiverMachine } from './receiver.machine.ts';
import { socketActor } from './socket.actor.ts';
import { loadStatelyPackage } from './stately-package.ts';
import { sendToStately } from './stately-session.ts';

/** Options of the connection to the official inspector. */
export interface InspectStatelyOptions {
  /**
   * URL of a receiver on this machine. Default: `ws://127.0.0.1:8080`, the default of the package's
   * own server.
   */
  readonly url?: string;
  /**
   * Called if a receiver is refused because another user owns it, or if its owner is unknown.
   * Default: `process.emitWarning`.
   */
  readonly warn?: (message: string) => void;
}

/** A running inspection. */
export interface StatelyInspection extends AsyncDisposable {
  /** URL of the receiver. */
  readonly url: string;
  /**
   * Watcher for `listen(transport, { watchers: [inspection.watcher] })` and `connect(entry, {
   * watchers: [inspection.watcher] })`. Accepts any number of both.
   */
  readonly watcher: (watched: WatchedSession | WatchedConnection) => void;
  /** Sends queued messages and stops. Sessions stay open. */
  close(): Promise<void>;
}

/**
 * Sends watched sessions and connections to a receiver of the official inspector: their machines
 * and each state change with its cause. Secrets are redacted, and the context of a connection's
 * machines is never sent. Of the traffic, only task results are sent.
 *
 * The receiver may be absent, appear later, or disappear. The inspection tries to connect once per
 * second, sends the current state on connecting, and observes nothing while disconnected.
 *
 * The receiver must belong to the current user, because any local user may listen on a port. On
 * Linux, a receiver of another user gets nothing. Other systems do not reveal the owner, so the
 * inspection warns.
 *
 * @throws {TypeError} if the URL is not on this machine
 * @throws {Error} `code` ERR_MODULE_NOT_FOUND if the package `@statelyai/inspect` is not installed
 */
export async function inspectStately({
  url = 'ws://127.0.0.1:8080',
  warn = (message) => process.emitWarning(message),
}: InspectStatelyOptions = {}): Promise<StatelyInspection> {
  checkLoopback(url);
  const { createInspector, WebSocket } = await loadStatelyPackage();
  const machine = receiverMachine.provide({ actors: { socket: socketActor(WebSocket, url) } });
  const receiver = createActor(machine, { clock: systemClock, logger: () => {} });
  /** Sessions and connections, each with its unsubscribe function while it is being sent. */
  const sessions = new Map<WatchedSession | WatchedConnection, (() => void) | undefined>();
  const isThere = () => receiver.getSnapshot().matches({ linked: 'open' });
  const tell = (session: WatchedSession | WatchedConnection) =>
    sendToStately(createInspector, session, (text) => {
      receiver.send({ type: 'message.send', text });
    });

  receiver.on('receiver.opened', () => {
    for (const session of sessions.keys()) sessions.set(session, tell(session));
  });
  receiver.on('receiver.lost', () => {
    for (const [session, end] of sessions) {
      end?.();
      sessions.set(session, undefined);
    }
  });
  let warned = '';
  /** Connecting is retried every second: report the same problem once. */
  const warnOnce = (message: string) => {
    if (message === warned) return;
    warned = message;
    warn(message);
  };
  receiver.on('receiver.refused', ({ uid }) =>
    warnOnce(
      `Inspector at ${url} belongs to another user of this machine (uid ${uid}): nothing is sent to it`,
    ),
  );
  receiver.on('receiver.unproven', () =>
    warnOnce(
      `Inspector at ${url} cannot be verified as yours, because any user of this machine may listen there: the session is sent nevertheless`,
    ),
  );
  const closed = new Promise<void>((resolve) => {
    receiver.subscribe({ complete: resolve, error: () => resolve() });
  });
  receiver.start();
  const close = () => {
    receiver.send({ type: 'receiver.close' });
    return closed;
  };
  return {
    url,
    watcher: (session) => {
      sessions.set(session, isThere() ? tell(session) : undefined);
      void session.closed.then(() => {
        sessions.get(session)?.();
        sessions.delete(session);
      });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function checkLoopback(url: string): void {
  const { protocol, hostname } = new URL(url);
  const isLocal =
    hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
  if (protocol === 'ws:' && isLocal) return;
  throw new TypeError(
    `Inspector URL must be a ws:// URL of 127.0.0.1, [::1] or localhost, got ${JSON.stringify(url)}`,
  );
}
