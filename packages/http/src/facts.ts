/** Facts reported by an HTTP endpoint, in addition to those of its sessions. */
import type { FactLevel, Report } from '../../../src/actors/facts.ts';

export type HttpFactName =
  /**
   * A request was rejected before it reached a session; `details.status` is the response status.
   */
  | 'http.refused'
  /** A new session was rejected: `maxSessions` are open and none can be evicted. */
  | 'session.refused'
  /** The host's server factory, or serving a request, threw: a bug. */
  | 'server.failed'
  /** A token could not be checked; the request was rejected with 503. */
  | 'authorization.unavailable'
  /** A stream's token expired; its connection was closed. */
  | 'authorization.expired'
  /** A stream's token was revoked; its connection was closed. */
  | 'authorization.revoked'
  /** A stream's token could not be rechecked for too long; its connection was closed. */
  | 'authorization.unchecked'
  /** A stream lost its connection before the stream ended. */
  | 'stream.left'
  /** A client resumed a stream. */
  | 'stream.resumed'
  /** A client stopped reading a stream or response; its connection was closed. */
  | 'stream.cut'
  /** Replay events that the client had not received were dropped. */
  | 'events.lost'
  /** Messages queued for a stream were dropped: too many, or too many bytes. */
  | 'pushes.lost'
  /** Nodes share sessions but no keys for the request states of 2026-07-28. */
  | 'stateKeys.missing'
  /** The shared store was unavailable for a read or a write. */
  | 'nodes.unavailable'
  /** A node does not answer forwarded requests, or this one cannot reach its own URL. */
  | 'nodes.unreachable'
  /** This node lost its lease. Its sessions ended here; other nodes may take them over. */
  | 'nodes.lapsed'
  /** The store lost data, and this node restored its part. */
  | 'nodes.restored'
  /** A bug in this package or in a store, while nodes share sessions. */
  | 'nodes.failed'
  /** The client disconnected before its call was answered and cannot fetch the answer. */
  | 'answer.lost';

export type HttpReport = Report<HttpFactName>;

/** Reports a fact that has no details. */
export function formatReport(
  report: HttpReport,
  level: FactLevel,
  name: HttpFactName,
  message: string,
): void {
  report({ level, name, message });
}
