/** `mcp-actors/http`: MCP over HTTP as a handler of the web's `Request`. */
export { defaultTokenLimits } from './auth/options.ts';
export type { AuthorizationOptions, VerifiedToken } from './auth/options.ts';
export { httpHandler } from './web-exchange.ts';
export type { HttpHandler } from './web-exchange.ts';
export { defaultHttpLimits } from './options.ts';
export type { HttpLimits, HttpOptions, NodeOptions, ServerFactory } from './options.ts';
export { StoreUnavailable } from './nodes/stores.ts';
export type { Stores } from './nodes/stores.ts';
