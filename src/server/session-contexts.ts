/**
 * The contexts of a server's handlers: one for each call, and what those of a session share, its
 * log and its open elicitations.
 */
import { Method } from '../protocol/methods.ts';
import { CallContext } from '../context/call-context.ts';
import type { ContextScope } from '../context/call-context.ts';
import type { ContextOf } from '../features/feature.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { PerSession, sessionOf } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';
import { OpenElicitations } from '../context/elicitation.ts';
import { SessionLog, undeclaredLog } from '../context/session-log.ts';
import type { LoggingOptions } from '../context/session-log.ts';
import type { LogLevel } from '../protocol/log-levels.ts';

export interface SessionContexts {
  readonly contextOf: ContextOf;
  /** From now on, the session sends no log messages below this level. */
  setLogLevel(session: SessionScope, level: LogLevel): void;
  /** See {@link SessionHandle}. */
  elicitationCompleted(session: SessionScope, elicitationId: string): boolean;
}

/**
 * Makes the contexts of a server's handlers.
 *
 * @param logging undefined if the server has not declared it
 */
export function sessionContexts(logging: LoggingOptions | undefined): SessionContexts {
  const logs = new PerSession((session) => {
    const { limits, hostClock: clock, report } = session;
    const { maxLogsPerSecond } = limits;
    const log = new SessionLog({ level: 'info', ...logging, maxLogsPerSecond, clock, report });
    session.atEnd(() => log.stop());
    return log;
  });
  const elicitations = new PerSession(() => new OpenElicitations());
  const scopes = new PerSession((session): ContextScope => ({
    limits: session.limits,
    clock: session.hostClock,
    log: logging ? logs.of(session) : undeclaredLog(session.report),
    session,
    elicitations: elicitations.of(session),
  }));
  return {
    // One context for each call: middleware and handler share its progress.
    contextOf: (call) =>
      (call.context ??= new CallContext(call, scopes.of(sessionOf(call)))) as HandlerContext,
    setLogLevel: (session, level) => logs.of(session).setLevel(level),
    elicitationCompleted: (session, elicitationId) => {
      if (!session.isOperating) return false;
      if (!elicitations.known(session)?.close(elicitationId)) return false;
      session.notify(Method.elicitationComplete, { elicitationId });
      return true;
    },
  };
}
