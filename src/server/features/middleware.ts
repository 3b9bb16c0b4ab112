/**
 * Code around handlers: authorization, tracing, rate limits. Without middleware, the router calls
 * the handlers themselves.
 */
import { wrapHandler } from '../../actors/request-context.ts';
import type { RequestHandler } from '../../actors/request-context.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { FeatureHandler } from './feature.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { contextOf } from '../session/session-scope.ts';

/** A client's request on its way to its handler. */
export interface IncomingCall {
  /** Such as `tools/call`. */
  readonly method: string;
  /** As the client sent them, unchecked. */
  readonly params: JsonObject | undefined;
  /** What the handler will get. */
  readonly context: HandlerContext;
}

/**
 * Sees each request that runs a handler, and its result as it goes to the client: a tool's failure
 * is a result with `isError`. An error that it throws is answered as if the handler had thrown it.
 * @param next runs the rest and gives its result. Call it once, or not at all to answer the request
 *   yourself
 */
export type Middleware = (
  call: IncomingCall,
  next: () => Promise<JsonObject>,
) => JsonObject | Promise<JsonObject>;

/**
 * Puts middleware around a handler, the first one outermost. Without any, gives the handler itself.
 */
export function withMiddleware(
  handler: FeatureHandler,
  middleware: readonly Middleware[],
): RequestHandler {
  if (middleware.length === 0) return handler;
  const run: RequestHandler = (params, call) => {
    const incoming: IncomingCall = {
      method: call.request.method,
      params,
      context: contextOf(call),
    };
    const step = async (at: number): Promise<JsonObject> => {
      const layer = middleware[at];
      if (!layer) return (await handler(params, call)) as JsonObject;
      const result: unknown = await layer(
        incoming,
        once(() => step(at + 1), call.request.method),
      );
      if (isJsonObject(result)) return result;
      // Thrown here, because the router would blame the handler.
      throw new TypeError(
        `A middleware must give a result, such as what next() gave; for ${call.request.method} it gave ${inspectValue(result)}`,
      );
    };
    const { recover } = handler;
    const result = step(0);
    return recover ? result.catch((error: unknown) => recover(error, call)) : result;
  };
  return wrapHandler(handler, run);
}

/** A handler may have side effects, so it never runs twice for one request. */
function once(go: () => Promise<JsonObject>, method: string): () => Promise<JsonObject> {
  const again = () =>
    Promise.reject(new Error(`A middleware called next() twice for one request of ${method}`));
  let next = () => {
    next = again;
    return go();
  };
  return () => next();
}
