/** What the handlers of one session share: its log, what they have asked people to open, the session as they see it. */
import type { Call } from '../../actors/call.ts';
import type { Clock } from '../../actors/clock.ts';
import type { Report } from '../../protocol/facts.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import { CallContext } from '../call-context.ts';
import { loggingFeature } from '../features/logging.ts';
import type { Feature } from '../features/feature.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Limits } from '../limits.ts';
import { OpenElicitations } from './open-elicitations.ts';
import { ResultChecks } from './result-checks.ts';
import { SessionLog, undeclaredLog } from './session-log.ts';
import type { LogLevel } from './session-log.ts';
import type { SessionHandle, SessionState } from './session-view.ts';

/** What a server says of its log messages; see `ServerDefinition.logging`. */
export interface LoggingOptions {
  /** What is sent until the client says which level it wants; by default `info`. */
  readonly level?: LogLevel;
}

export interface SessionContexts {
  contextOf(call: Call): HandlerContext;
  readonly session: SessionHandle;
  /** Where the server has declared logging. */
  readonly logging: Feature | undefined;
}

/** The contexts of one session's handlers. */
export function sessionContexts(options: {
  state(): SessionState;
  readonly logging: LoggingOptions | undefined;
  resourceUpdated(uri: string): void;
  notify(method: string, params?: JsonObject): void;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly report: Report;
}): SessionContexts {
  const { state, logging, resourceUpdated, notify, limits, clock, report } = options;
  const { maxLogsPerSecond } = limits;
  const log =
    logging && new SessionLog({ level: 'info', ...logging, maxLogsPerSecond, clock, report });
  const elicitations = new OpenElicitations();
  let id: string | undefined = undefined;
  const session: SessionHandle = {
    // Made when first read: Node loads its crypto for it, which would delay the first answer.
    get id() {
      return (id ??= crypto.randomUUID());
    },
    get state() {
      return state();
    },
    resourceUpdated,
    elicitationCompleted: (elicitationId) => {
      if (state() !== 'initialized' && state() !== 'rootsKnown') return false;
      if (!elicitations.close(elicitationId)) return false;
      notify(Method.elicitationComplete, { elicitationId });
      return true;
    },
  };
  const scope = {
    limits,
    clock,
    log: log ?? undeclaredLog(report),
    session,
    elicitations,
    results: new ResultChecks(),
  };
  return {
    // One context a call: middleware and handler report one progress.
    contextOf: (call) => (call.context ??= new CallContext(call, scope)) as HandlerContext,
    session,
    logging: log && loggingFeature(log),
  };
}
