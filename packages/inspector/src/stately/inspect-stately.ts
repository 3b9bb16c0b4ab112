/** Sends sessions to XState's official inspector, through `@statelyai/inspect`. */
import { createActor } from 'xstate';
import type { WatchedSession } from 'mcp-actors';
import type { WatchedConnection } from 'mcp-actors/client';
import { systemClock } from 'mcp-actors/internal';
import { receiverMachine } from './receiver.machine.ts';
import { socketActor } from './socket.actor.ts';
import { loadStatelyPackage } from './stately-package.ts';
import { tellStately } from './stately-session.ts';

/** How the official inspector is reached. */
export interface InspectStatelyOptions {
  /**
   * Where a receiver listens on this machine, by default `ws://127.0.0.1:8080`, as the package's
   * own server does.
   */
  readonly url?: string;
  /**
   * Called if a receiver is refused because it belongs to another user, or if the system cannot
   * tell whose it is; by default `process.emitWarning`.
   */
  readonly warn?: (message: string) => void;
}

/** An inspection under way. */
export interface StatelyInspection extends AsyncDisposable {
  /** Where the inspector is. */
  readonly url: string;
  /**
   * For `listen(transport, { watchers: [inspection.watcher] })` and `connect(entry, { watchers:
   * [inspection.watcher] })`, for any number of both.
   */
  readonly watcher: (watched: WatchedSession | WatchedConnection) => void;
  /** Sends what is left and stops. The sessions go on. */
  close(): Promise<void>;
}

/**
 * Sends the sessions and connections that it watches to a receiver of the official inspector: their
 * machines, each change of state, and what caused it. Secrets are redacted; of a connection no
 * machine's context is sent. Of the traffic, it sends only the results of tasks.
 *
 * The receiver may be absent, come later or go away. The inspection looks for it once a second,
 * sends it the present state when it appears, and listens to nothing while it is absent.
 *
 * The receiver must belong to this user, because any user of the machine may listen on a port.
 * Linux tells whose it is, and another user's is sent nothing; other systems do not tell, and there
 * is a warning.
 *
 * @throws {TypeError} the URL leads to another machine
 * @throws {Error} `code` ERR_MODULE_NOT_FOUND: the package `@statelyai/inspect` is not installed
 */
export async function inspectStately({
  url = 'ws://127.0.0.1:8080',
  warn = (message) => process.emitWarning(message),
}: InspectStatelyOptions = {}): Promise<StatelyInspection> {
  checkLoopback(url);
  const { createInspector, WebSocket } = await loadStatelyPackage();
  const machine = receiverMachine.provide({ actors: { socket: socketActor(WebSocket, url) } });
  const receiver = createActor(machine, { clock: systemClock, logger: () => {} });
  /** The sessions and connections; each with what stops sending it, while it is sent. */
  const sessions = new Map<WatchedSession | WatchedConnection, (() => void) | undefined>();
  const isThere = () => receiver.getSnapshot().matches({ linked: 'open' });
  const tell = (session: WatchedSession | WatchedConnection) =>
    tellStately(createInspector, session, (text) => {
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
  /** Connecting is tried again each second; the same warning is given once. */
  const warnOnce = (message: string) => {
    if (message === warned) return;
    warned = message;
    warn(message);
  };
  receiver.on('receiver.refused', ({ uid }) =>
    warnOnce(
      `Nothing is sent to the inspector at ${url}: another user of this machine (uid ${uid}) listens there`,
    ),
  );
  receiver.on('receiver.unproven', () =>
    warnOnce(
      `The session is sent to the inspector at ${url}, and nothing proves that it is yours: any user of this machine may listen there`,
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
    `Sessions are sent to the inspector on this machine alone: ${JSON.stringify(url)} is not a ws:// URL of 127.0.0.1, [::1] or localhost`,
  );
}
