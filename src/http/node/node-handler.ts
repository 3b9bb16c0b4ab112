/** A server as a handler of `node:http`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Endpoint, controlled } from '../endpoint.ts';
import type { EndpointControl } from '../endpoint.ts';
import type { HttpOptions, ServerOf } from '../options.ts';
import { NodeExchange } from './node-exchange.ts';

/** Answers requests of `node:http`. */
export interface NodeHandler extends EndpointControl {
  /** Answers one request. It never throws: what goes wrong is a response. */
  (request: IncomingMessage, response: ServerResponse): void;
}

/** A server as a handler of node's requests: for `node:http`, Express and Fastify. */
export function nodeHandler(server: ServerOf, options: HttpOptions = {}): NodeHandler {
  const endpoint = new Endpoint(server, options);
  const handle = (request: IncomingMessage, response: ServerResponse) =>
    endpoint.handle(new NodeExchange(request, response, endpoint));
  return controlled(handle, endpoint);
}
