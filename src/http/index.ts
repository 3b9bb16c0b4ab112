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
export { httpHandler } from './web-exchange.ts';
export type { HttpHandler } from './web-exchange.ts';
export { defaultHttpLimits } from './options.ts';
export type { HttpLimits, HttpOptions, Served, ServedFor, ServerOf } from './options.ts';
export type { RequestInfo } from './web-exchange.ts';
export type {
  EventLimits,
  EventStore,
  Followed,
  Replay,
  StreamEvent,
  StreamState,
} from './nodes/event-store.ts';
export { newNodeName } from './nodes/names.ts';
export type { EventPlace } from './nodes/names.ts';
export type {
  Delivery,
  Hold,
  Letter,
  Mailbox,
  MailboxListener,
  MailboxNotice,
  PushLimits,
  RemovalReason,
  Taken,
} from './nodes/mailbox.ts';
export type {
  Creation,
  HeldSession,
  JournalEntry,
  NewSession,
  SessionStoreLimits,
  SessionRecord,
  SessionStore,
  TouchReport,
  Update,
} from './nodes/session-store.ts';
export { StoreUnavailable } from './nodes/stores.ts';
export type { StoreFault } from './nodes/stores.ts';
export type { StoreLimits, Stores } from './nodes/stores.ts';
