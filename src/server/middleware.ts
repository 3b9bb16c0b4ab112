/** Code around handlers: authorization, tracing, rate limits. Without any, nothing stands between router and handler. */
import { isThenable } from '../actors/call.ts';
import type { Call, RequestHandler } from '../actors/call.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { HandlerContext } from './handler-context.ts';

/** A client's request on its way to its handler. */
export interface IncomingCall {
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly context: HandlerContext;
}

/**
 * Sees each request that runs a handler, and its result. What it throws is the answer, as if the handler had thrown it.
 * @param next runs the rest; call it once, or answer instead of it
 */
export type Middleware = (
  call: IncomingCall,
  next: () => Promise<JsonObject>,
) => JsonObject | Promise<JsonObject>;

/** A handler with middleware around it. */
export function withMiddleware(
  handler: RequestHandler,
  middleware: readonly Middleware[],
  contextOf: (call: Call) => HandlerContext,
): RequestHandler {
  const run: RequestHandler = (params, call) => {
    const incoming: IncomingCall = { method: call.method, params, context: contextOf(call) };
    const step = async (at: number): Promise<JsonObject> => {
      const layer = middleware[at];
      if (layer) return layer(incoming, () => step(at + 1));
      const result = handler(params, call);
      return (isThenable(result) ? await result : result) as JsonObject;
    };
    return step(0);
  };
  return Object.assign(run, handler.prepare ? { prepare: handler.prepare } : {});
}
