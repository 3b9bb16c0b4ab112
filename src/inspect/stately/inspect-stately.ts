/** Sends sessions to the official inspector of XState, through `@statelyai/inspect`. */
import { createActor } from 'xstate';
import { systemClock } from '../../actors/clock.ts';
import type { WatchedSession, Watcher } from '../../server/session.ts';
import { receiverMachine } from './receiver.machine.ts';
import { socketActor } from './socket.actor.ts';
import { loadStatelyPackage } from './stately-package.ts';
import { tellStately } from './stately-session.ts';

export interface InspectStatelyOptions {
  /** Where a receiver listens on this machine, by default `ws://127.0.0.1:8080`, as the package's own server does. */
  readonly url?: string;
  /** Hears that a receiver is refused because it is another user's, or that nobody can tell whose it is; by default `process.emitWarning`. */
  readonly warn?: (message: string) => void;
}

/** Sessions that are sent. */
export interface StatelyInspection extends AsyncDisposable {
  readonly url: string;
  /** For `listen(transport, { watchers: [inspection.watcher] })`, of as many sessions as there are. */
  readonly watcher: Watcher;
  /** Sends what is left and ends it. The sessions go on. */
  close(): Promise<void>;
}

/**
 * Sends the sessions that it watches to a receiver of the official inspector: their machines, each change of state, what caused it. Secrets are
 * redacted; of the traffic only what tasks are answered with is shown. The receiver may be absent, come later or go away: it is looked for once a
 * second, told of the present when it is there, and while there is none nothing is listened to. It has to be this user's own: any user of the machine may
 * listen on a port. Linux tells whose it is, and nothing is sent to another user's; elsewhere there is a warning.
 *
 * @throws {TypeError} a URL that leads to another machine
 * @throws {Error} `code` ERR_MODULE_NOT_FOUND where the package `@statelyai/inspect` is not installed
 */
export async function inspectStately({
  url = 'ws://127.0.0.1:8080',
  warn = (message) => process.emitWarning(message),
}: InspectStatelyOptions = {}): Promise<StatelyInspection> {
  checkLoopback(url);
  const { createInspector, WebSocket } = await loadStatelyPackage();
  const machine = receiverMachine.provide({ actors: { socket: socketActor(WebSocket, url) } });
  const receiver = createActor(machine, { clock: systemClock, logger: () => {} });
  /** Each with what ends the telling of it, while it is told. */
  const sessions = new Map<WatchedSession, (() => void) | undefined>();
  const isThere = () => receiver.getSnapshot().matches({ linked: 'open' });
  const tell = (session: WatchedSession) =>
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
  /** It is tried again each second; what is the same is said once. */
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
    `Sessions are sent to the inspector on this machine alone: ${JSON.stringify(url)} is no ws:// URL of 127.0.0.1, [::1] or localhost`,
  );
}
