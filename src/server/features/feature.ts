/** A feature of a server in one session: the methods that it answers and the capabilities that it declares. */
import type { InspectionEvent, Observer } from 'xstate';
import type { Call, RequestHandler } from '../../actors/call.ts';
import type { Clock } from '../../actors/clock.ts';
import type { Report } from '../../protocol/facts.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Limits } from '../limits.ts';
import type { Transitions } from '../transitions.ts';

/** Answers one method. */
export interface FeatureHandler extends RequestHandler {
  /** Makes a result of what code around it has thrown, or throws it again. What it throws itself it has seen already. */
  readonly recover?: (error: unknown) => JsonObject;
}

export interface Feature {
  readonly capabilities: JsonObject;
  readonly handlers: { readonly [method: string]: FeatureHandler };
  /** Begins what lasts as long as the session; gives what ends it. */
  start?(): () => void;
  /** Releases what it holds, at the session's end. */
  stop?(): void;
}

/** What a feature needs of its session. */
export interface FeatureScope {
  contextOf(call: Call): HandlerContext;
  /** Sends a notification to the client. Before the session is in operation, and after its end, it does nothing. */
  notify(method: string, params?: JsonObject): void;
  /** Calls back once the session is in operation, at once where it is already; until the returned function is called. */
  whenOperating(listener: () => void): () => void;
  /** Now, ISO 8601. */
  timeOfDay(): string;
  /** An id that nobody can guess. */
  randomId(of: 'task'): string;
  readonly transitions: Pick<Transitions, 'heardCopy'>;
  /** Hears what happens in the actors that a feature starts. */
  readonly inspect?: Observer<InspectionEvent> | ((event: InspectionEvent) => void) | undefined;
  readonly report: Report;
  readonly clock: Clock;
  readonly limits: Limits;
}
