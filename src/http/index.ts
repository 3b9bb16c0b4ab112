/** `mcp-actors/http`: a server over HTTP, as a handler of the web's `Request`. */
export { httpHandler } from './http-handler.ts';
export type { HttpHandler } from './http-handler.ts';
export { defaultHttpLimits } from './options.ts';
export type { HttpLimits, HttpOptions, Served, ServerOf } from './options.ts';
export type { RequestInfo } from './web-exchange.ts';
