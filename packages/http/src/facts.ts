/** What an HTTP endpoint reports beside what its sessions do. */
import type { FactLevel, Report } from '../../../src/actors/facts.ts';

export type HttpFactName =
  /** A request was refused before it reached a session; `details.status` has the answer's. */
  | 'http.refused'
  /** As many sessions are open as may be, and none of them is idle: one more was refused. */
  | 'session.refused'
  /** The host's code that makes the server of a request threw, or serving it did: a bug. */
  | 'server.failed'
  /** Whether a token is valid could not be found out; the request was refused with 503. */
  | 'authorization.unavailable'
  /** The token that a stream was opened with has expired: its connection was ended. */
  | 'authorization.expired'
  /** That token was revoked before it expired: its connection was ended. */
  | 'authorization.revoked'
  /** For too long nobody could tell whether that token is valid: its connection was ended. */
  | 'authorization.unchecked'
  /** The connection of a stream has ended before the stream. */
  | 'stream.left'
  /** A client came back to a stream of its own. */
  | 'stream.resumed'
  /** A client does not read a stream or an answer: its connection was closed. */
  | 'stream.cut'
  /** Messages that a client had not fetched from a stream that was cut were dropped. */
  | 'events.lost'
  /** Messages that waited for the client to open a stream were dropped: too many, or too long. */
  | 'pushes.lost'
  /** Nodes share sessions, and have no keys in common for the states of 2026-07-28. */
  | 'stateKeys.missing'
  /** Something could not be told to other nodes, or asked of them. */
  | 'nodes.unavailable'
  /** A node does not answer what is forwarded to it, or this one is not reached at its own URL. */
  | 'nodes.unreachable'
  /** This node has lost its lease: its sessions have ended here, and may go on at others. */
  | 'nodes.lapsed'
  /** The store had lost data, and was given back what this node knows. */
  | 'nodes.restored'
  /** A bug, here or in a store, where nodes share their sessions. */
  | 'nodes.failed'
  /** The client left before its call was answered, and can no longer ask for the answer. */
  | 'answer.lost';

export type HttpReport = Report<HttpFactName>;

/** Reports something in words. */
export function formatReport(
  report: HttpReport,
  level: FactLevel,
  name: HttpFactName,
  message: string,
): void {
  report({ level, name, message });
}
