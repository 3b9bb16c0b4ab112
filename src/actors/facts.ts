/**
 * Facts: events for logs and tests that no message reports. Every dropped input produces one,
 * except progress with an unknown token, which is normal after an end and could flood the log.
 *
 * Each layer declares the names of its facts.
 */

export type FactLevel = 'debug' | 'info' | 'warning' | 'error';

/** An event for a log or a test. */
export interface Fact<TName extends string = string> {
  /** Severity. */
  readonly level: FactLevel;
  /** `noun.fact`. */
  readonly name: TName;
  /** Text for people. Bounded in length; never a whole payload. */
  readonly message: string;
  /** Machine-readable details. Contains no secrets and no whole payloads. */
  readonly details?: { readonly [field: string]: unknown };
}

/** Receives facts as they happen. Must not throw. */
export interface Report<TName extends string = string> {
  /** Receives one fact. */
  (fact: Fact<TName>): void;
  /**
   * Minimum level of interest, default `debug`. Facts that accompany every message are not created
   * below it.
   */
  readonly threshold?: FactLevel | 'silent';
}

/** Names of the facts that a session's actors report. */
export type ActorFactName =
  /** The input was not a message; it was answered with an error. */
  | 'frame.invalid'
  /** Reading failed; the session ends as at the end of input. */
  | 'input.failed'
  /** A notification without a handler. */
  | 'notification.ignored'
  /** The server sent a request although its revision has no server requests; it gets no answer. */
  | 'request.forbidden'
  /** A cancellation of an unknown request. */
  | 'cancellation.ignored'
  /** A handler threw an unexpected error. */
  | 'handler.failed'
  /** A listener of the embedding program threw. The session continues. */
  | 'listener.failed'
  /** The server's `resolveRoots` threw: a bug in the server. */
  | 'resolver.failed'
  /** A handler's result could not be written as JSON. */
  | 'response.unserializable'
  /** A request was refused because the queue is full. */
  | 'request.refused'
  /** A retry's request state was forged, expired or of another request; the request fails. */
  | 'state.refused'
  /** A suspended call was ended because the client did not retry. */
  | 'call.expired'
  /** An unreadable response to one of our pending requests; the request fails. */
  | 'response.malformed'
  /** A response to one of our requests that has already ended without it. */
  | 'response.late'
  /** A second response to the same request. */
  | 'response.duplicate'
  /** A response with an unknown id. */
  | 'response.unknown'
  /** Progress without a number, or with an unknown token. */
  | 'progress.unknown'
  /** A request was sent to the client; `details` has its id and method. */
  | 'request.sent'
  /** The client answered a request with a result or an error; `details` has the elapsed time. */
  | 'request.answered'
  /** The client did not answer a request in time. */
  | 'request.timedOut'
  /** The client does not read its output; no request is started until it does. */
  | 'output.blocked'
  | 'output.flowing'
  | 'output.broken'
  /** The client sends without reading, over a transport that cannot be paused; the session ends. */
  | 'output.overrun'
  /** The client does not read while the session is closing; unsent output is discarded. */
  | 'output.stalled'
  /** A message was lost for lack of an open stream; the session continues. */
  | 'output.lost';

const safeReports = new WeakMap<Report, Report>();

/**
 * Wraps a report so that it never throws: the session survives a failing report. Sessions with the
 * same report share the wrapper.
 */
export function safeReport(report: Report): Report {
  const known = safeReports.get(report);
  if (known) return known;
  const { threshold = 'debug' } = report;
  const safe = (fact: Fact): void => {
    try {
      report(fact);
    } catch {
      // The report itself failed, so there is nowhere to report this.
    }
  };
  const made = Object.assign(safe, { threshold });
  safeReports.set(report, made);
  return made;
}
