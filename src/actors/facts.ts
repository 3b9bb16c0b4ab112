/**
 * What happened that no message tells: the things a log shows and a test waits for. Whatever a
 * peer sends, nothing is dropped without one of these, except progress with a token that we do not know:
 * it is normal after an end, and a flood of it would only become a flood of facts.
 *
 * Each layer declares the names of what it reports.
 */

export type FactLevel = 'debug' | 'info' | 'warning' | 'error';

/** Something that happened, for a log or for a test. */
export interface Fact<TName extends string = string> {
  /** How much it matters. */
  readonly level: FactLevel;
  /** `noun.fact`. */
  readonly name: TName;
  /** For a person. Bounded in length; never a whole payload. */
  readonly message: string;
  /** For programs. No secrets and no whole payloads. */
  readonly details?: { readonly [field: string]: unknown };
}

/** Takes facts as they happen. Must not throw. */
export interface Report<TName extends string = string> {
  /** Takes one fact. */
  (fact: Fact<TName>): void;
  /**
   * The lowest level that it does something with, by default `debug`. Facts that accompany each
   * message are not made if they would be below it.
   */
  readonly threshold?: FactLevel | 'silent';
}

/** What a session's actors report. */
export type ActorFactName =
  /** Input that was no message; answered with an error. */
  | 'frame.invalid'
  /** Reading failed; the session ends as at the end of its input. */
  | 'input.failed'
  /** A notification that nobody handles. */
  | 'notification.ignored'
  /** A server asked something though its era has no requests of servers; it gets no answer. */
  | 'request.forbidden'
  /** A cancellation of nothing in flight. */
  | 'cancellation.ignored'
  /** A handler threw something that its author did not mean for the client. */
  | 'handler.failed'
  /** Host code that listens to a session threw: a bug in the host, which ends nothing. */
  | 'listener.failed'
  /** The server's resolver of roots threw: a bug in the server. */
  | 'resolver.failed'
  /** A handler's result could not be written as JSON. */
  | 'response.unserializable'
  /** A request was refused because too many wait. */
  | 'request.refused'
  /** A retry's request state was forged, has expired, or belongs elsewhere; the request fails. */
  | 'state.refused'
  /** A call that had asked its client was ended: the client did not go on with it. */
  | 'call.expired'
  /** A response to one of our pending requests that cannot be read; the request fails. */
  | 'response.malformed'
  /** A response to one of our requests that has already ended otherwise. */
  | 'response.late'
  /** A second response to the same request. */
  | 'response.duplicate'
  /** A response with an id that we did not give. */
  | 'response.unknown'
  /** Progress without a number, or with a token that we did not give. */
  | 'progress.unknown'
  /** One of our requests went to the client; `details` has its id and method. */
  | 'request.sent'
  /** The client answered it, with a result or an error; `details` also has the time it took. */
  | 'request.answered'
  /** The client did not answer one of our requests in time. */
  | 'request.timedOut'
  /** The client does not read: no request is started until it does. */
  | 'output.blocked'
  | 'output.flowing'
  | 'output.broken'
  /**
   * The client takes nothing and goes on sending, over a transport that cannot be paused: the
   * session ends.
   */
  | 'output.overrun'
  /** At the session's end the client takes nothing: the session ends without sending the rest. */
  | 'output.stalled'
  /** A message found no stream of its session to travel on; the session goes on. */
  | 'output.lost';

const safeReports = new WeakMap<Report, Report>();

/**
 * A report that never throws: the session goes on even if its host's report fails. Sessions with
 * the same report share it.
 */
export function safeReport(report: Report): Report {
  const known = safeReports.get(report);
  if (known) return known;
  const { threshold = 'debug' } = report;
  const safe = (fact: Fact): void => {
    try {
      report(fact);
    } catch {
      // Only the host could be told, and the host's code is what failed.
    }
  };
  const made = Object.assign(safe, { threshold });
  safeReports.set(report, made);
  return made;
}
