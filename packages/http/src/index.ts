/** `mcp-actors/http`: a server over HTTP, as a handler of the web's `Request`. */
export { defaultTokenLimits } from './auth/options.ts';
export type {
  AuthorizationOptions,
  IntrospectionOptions,
  JwtOptions,
  TokenExchangeOptions,
  TokenLimits,
  VerifiedToken,
  VerifierOptions,
} from './auth/options.ts';
export type { EndpointControl } from './endpoint.ts';
export { httpHandler } from './web-exchange.ts';
export type { HttpHandler } from './web-exchange.ts';
export { defaultHttpLimits } from './options.ts';
export type {
  HttpLimits,
  HttpOptions,
  NodeOptions,
  Served,
  ServedFor,
  ServerOf,
} from './options.ts';
export type { RequestInfo } from './web-exchange.ts';
export { StoreUnavailable, newNodeName } from './nodes/stores.ts';
export type {
  CallCounts,
  Directory,
  FactChange,
  Found,
  BroadcastListener,
  Broadcasts,
  LeaseRequest,
  NodeAddress,
  KeptText,
  LeaseReply,
  LoggedText,
  StreamLog,
  SessionRecord,
  StoreAge,
  StoreFault,
  StoreLimits,
  Stores,
  Written,
} from './nodes/stores.ts';
