/** `mcp-actors/http`: a server over HTTP, as a handler of the web's `Request`. */
export { defaultTokenLimits } from './auth/options.ts';
export type {
  AuthorizationOptions,
  IntrospectionOptions,
  JwtOptions,
  TokenLimits,
  VerifiedToken,
  VerifierOptions,
} from './auth/options.ts';
export type { EndpointControl } from './endpoint.ts';
export { httpHandler } from './http-handler.ts';
export type { HttpHandler } from './http-handler.ts';
export { defaultHttpLimits } from './options.ts';
export type { HttpLimits, HttpOptions, Served, ServedFor, ServerOf } from './options.ts';
export type { RequestInfo } from './web-exchange.ts';
