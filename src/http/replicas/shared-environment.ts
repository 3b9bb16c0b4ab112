import { readRootsResult } from '../../protocol/roots.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { plainEnvironment } from '../../session/session-environment.ts';
import type { SessionEnvironment } from '../../session/session-environment.ts';
import { requestIdEnd } from '../nodes/names.ts';

/** The client's roots, as all nodes know them. */
export interface SharedRoots {
  /** What the client has listed, as far as it has not changed since; undefined if nobody knows. */
  known(): JsonObject | undefined;
  /** Notes what the client is asked from now on. @returns takes its list */
  asking(): (result: JsonObject) => void;
}

/**
 * What a session that has several nodes gets from outside: its requests to the client have ids that
 * tell which node asks, and a client that has listed its roots to one node is asked by no other.
 */
export function sharedEnvironment(
  node: string,
  roots: SharedRoots,
  inner: SessionEnvironment = plainEnvironment,
): SessionEnvironment {
  return {
    clock: (clock) => inner.clock(clock),
    begin: (session) => inner.begin(session),
    handlers: (handlers) => inner.handlers(handlers),
    transport: (transport) => inner.transport(transport),
    timeOfDay: (timeOfDay) => inner.timeOfDay(timeOfDay),
    randomId: (of, make) => inner.randomId(of, of === 'request' ? () => requestIdEnd(node) : make),
    sealer: (sealer) => inner.sealer(sealer),
    resolveRoots: (resolve) => inner.resolveRoots(resolve),
    listRoots: async (ask) => {
      const known = roots.known();
      if (known) return known;
      const listed = roots.asking();
      const result = await inner.listRoots(ask);
      if (readRootsResult(result).ok) listed(result);
      return result;
    },
    notify: (...notification) => inner.notify(...notification),
    notice: (...change) => inner.notice(...change),
    shutdown: (...shutdown) => inner.shutdown(...shutdown),
    ping: (...ping) => inner.ping(...ping),
    listener: (...call) => inner.listener(...call),
    closed: (cause) => inner.closed(cause),
  };
}
