/**
 * Middleware around handlers, for authorization, tracing or rate limits. Without any, the router calls
 * the handlers directly.
 */
import { wrapHandler } from '../../actors/request-context.ts';
import type { RequestHandler } from '../../actors/request-context.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { FeatureHandler } from './feature.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { contextOf } from '../session/session-scope.ts';

/** Request passed to middleware. */
export interface IncomingCall {
  /** Method, such as `tools/call`. */
  readonly method: string;
  /** Unvalidated params of the client. */
  readonly params: JsonObject | undefined;
  /** Handler context. */
  readonly context: HandlerContext;
}

/**
 * Wraps each request to a handler and its wire result (a failed tool is a result with `isError`). A
 * thrown error is handled like one of the handler.
 *
 * @param next runs the inner middleware and the handler. Call it at most once; without it, the returned
 *   value is the result
 */
export type Middleware = (
  call: IncomingCall,
  next: () => Promise<JsonObject>,
) => JsonObject | Promise<JsonObject>;

/** Wraps a handler with middleware, the first one outermost. Returns the handler itself if there is none. */
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
        callOnce(() => step(at + 1), call.request.method),
      );
      if (isJsonObject(result)) return result;
      // Otherwise the router would attribute the error to the handler.
      throw new TypeError(
        `A middleware must return a result object, such as that of next(), got ${inspectValue(result)} for ${call.request.method}`,
      );
    };
    const { recover } = handler;
    const result = step(0);
    return recover ? result.catch((error: unknown) => recover(error, call)) : result;
  };
  return wrapHandler(handler, run);
}

/** Rejects a second call, because handlers may have side effects. */
function callOnce(go: () => Promise<JsonObject>, method: string): () => Promise<JsonObject> {
  const again = () =>
    Promise.reject(
      new Error(`A middleware must call next() at most once, it called it twice for ${method}`),
    );
  let next = () => {
    next = again;
    return go();
  };
  return () => next();
}
