/** A server as a handler of the web's `Request`. */
import { Endpoint, controlled } from './endpoint.ts';
import type { EndpointControl } from './endpoint.ts';
import type { HttpOptions, ServerOf } from './options.ts';
import { WebExchange } from './web-exchange.ts';
import type { RequestInfo } from './web-exchange.ts';

/** Answers requests of the web's standard. */
export interface HttpHandler extends EndpointControl {
  /** Answers one request. It never rejects: what goes wrong is a response. */
  (request: Request, info?: RequestInfo): Promise<Response>;
}

/** A server as a handler of `Request`s: for Hono, Next, Bun, Deno and workers. */
export function httpHandler(server: ServerOf, options: HttpOptions = {}): HttpHandler {
  const endpoint = new Endpoint(server, options);
  const handle = (request: Request, info?: RequestInfo) => {
    const exchange = new WebExchange(request, endpoint, info);
    endpoint.handle(exchange);
    return exchange.response;
  };
  return controlled(handle, endpoint);
}
