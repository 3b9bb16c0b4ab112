/** A feature of a server in one session: the methods that it answers and the capabilities that it declares. */
import type { RequestHandler } from '../../actors/call.ts';
import type { Call } from '../../actors/call.ts';
import type { Report } from '../../protocol/facts.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { HandlerContext } from '../handler-context.ts';

export interface Feature {
  readonly capabilities: JsonObject;
  readonly handlers: { readonly [method: string]: RequestHandler };
}

/** What a feature needs of its session. */
export interface FeatureScope {
  contextOf(call: Call): HandlerContext;
  /** Sends a notification to the client. */
  notify(method: string, params: JsonObject): void;
  readonly report: Report;
}
