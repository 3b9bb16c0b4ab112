/**
 * The server's side of a router. A client either opens a session with `initialize`, or describes
 * itself in each request; then nothing of a request outlives it, and the client gets no requests. A
 * sessionless transport delivers legacy requests of which only the revision is known.
 *
 * @see MCP 2025-11-25, basic/lifecycle
 * @see MCP 2025-11-25, basic/transports, "Session Management"
 * @see MCP 2026-07-28, basic, "Statelessness"
 */
import { acceptedInitialize, invalidInitialize } from '../../protocol/initialize-answers.ts';
import type { RootsReport } from '../../protocol/roots.ts';
import { undeclaredRoots } from '../../machines/roots.machine.ts';
import type { SessionRouterInput } from '../../machines/session-ports.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { CacheHints } from '../../protocol/dialects/dialect.ts';
import { negotiateDialect, statelessVersions } from '../../protocol/dialects/registry.ts';
import { isEnveloped, readEnvelope } from '../../protocol/envelope.ts';
import { ErrorCode, RuntimeError, errorResponse, shuttingDown } from '../../protocol/errors.ts';
import type {
  InboundNotification,
  InboundRequest,
  JsonObject,
  OutboundResponse,
  WireError,
} from '../../protocol/frames.ts';
import type { ServerDescription } from '../../protocol/implementation.ts';
import { readInitialize } from '../../protocol/initialize.ts';
import type { PeerDescription } from '../../protocol/initialize.ts';
import { mayRequireInput } from '../../protocol/input-required.ts';
import { Method, methodNotOffered } from '../../protocol/methods.ts';
import { printableName } from '../../protocol/printable.ts';
import { declaresRoots, unavailableRoots } from '../../protocol/roots.ts';
import { anyMethod, rejected } from '../request-context.ts';
import type {
  RequestContext,
  RequestHandler,
  OutboundRequest,
  ResumedRun,
} from '../request-context.ts';
import { Call } from './call.ts';
import type { Replies } from './call.ts';
import type { RouterContext, RouterOptions, RouterSide } from './router.actor.ts';

export interface ServerRouterOptions extends RouterOptions {
  /** The server's description. */
  readonly server: ServerDescription;
  /** Cache hints for discovery results. */
  readonly discovery: CacheHints;
  /** Computes the description for one client, if it depends on the client. */
  readonly describe?: ((call: RequestContext) => Promise<ServerDescription>) | undefined;
  /** Forwards a notification to the upstream. @returns false if no upstream takes it */
  forward?(notification: InboundNotification): boolean;
}

type ServerRouter = RouterContext<SessionRouterInput, ServerRouterOptions>;

export const serverSide: RouterSide<SessionRouterInput, ServerRouterOptions> = {
  kindOf({ method, params, origin, size }, gate) {
    if (origin?.resumes) return 'resuming';
    const isEnveloping = params?.['_meta'] !== undefined && isEnveloped(params);
    if (origin?.revision !== undefined) {
      return isEnveloping || method === Method.discover ? 'stateless' : 'sessionless';
    }
    // No era has an `initialize` with an envelope. Discovery does not decide the era: a client may
    // continue with `initialize`.
    if (method === Method.discover) return 'stateless';
    if (method === Method.initialize) return isEnveloping ? 'stateless' : 'initialize';
    if (!isEnveloping) return gate.state === 'modern' ? 'stateless' : 'ordinary';
    return gate.state === 'unopened' && readEnvelope(params, size).ok
      ? 'firstEnvelope'
      : 'stateless';
  },

  serve(request, kind, router, replies) {
    const { owner } = router.input;
    if (kind === 'initialize') {
      const { id, params, origin } = request;
      const reading = readInitialize(params);
      return owner.send({ type: 'initialize.received', request: { id, origin }, reading });
    }
    if (kind === 'resuming') return resume(request, router, replies);
    if (kind === 'firstEnvelope') owner.send({ type: 'envelope.received' });
    const revision = request.origin?.revision;
    const response =
      kind === 'sessionless' && revision !== undefined
        ? serveSessionless(request, revision, router, replies)
        : serveStateless(request, router, replies);
    if (response) replies.add(response, request);
  },

  refusalInBatch: ({ method }) => (method === Method.initialize ? initializeInBatch : undefined),
  tooEarly: (method) =>
    invalidRequest(`${inspectValue(method)} must not come before "initialize"; only "ping" may`),
  tooLate: shuttingDown,
  notOffered: methodNotOffered,

  notification(notification, { input, options }) {
    const { method } = notification;
    if (method === Method.initialized) {
      input.owner.send({ type: 'initialized.received' });
      return true;
    }
    const isTaken = options.forward?.(notification);
    if (method === Method.rootsListChanged) {
      input.owner.send({ type: 'roots.changed' });
    } else if (!isTaken) {
      const message = `No handler for the notification ${inspectValue(method)}`;
      options.report({ level: 'debug', name: 'notification.ignored', message });
    }
    return false;
  },

  /** Unknown ids can only be ours: no client generates such ids. */
  cancelledUnknown(id, reason, { input }) {
    input.correlation.send({ type: 'remote.cancelled', id, reason });
  },

  /** Only this client knows our ids. */
  isMeantAsAnswer: () => true,
  answersInvalid: () => true,
};

/** @see MCP 2026-07-28, basic/versioning, "Backward Compatibility with Initialization-Based Versions" */
const initializeInEnvelope: WireError = {
  code: ErrorCode.methodNotFound,
  message: `Method not found: "initialize" must not name a protocol version in "_meta"; send it without, or skip "initialize"`,
};

const initializeInBatch: WireError = invalidRequest('"initialize" must not be part of a batch');

function invalidRequest(reason: string): WireError {
  return { code: ErrorCode.invalidRequest, message: `Invalid request: ${reason}` };
}

/** Starts the call of a request with an envelope. @returns the answer, if available at once */
function serveStateless(
  request: InboundRequest,
  router: ServerRouter,
  replies: Replies,
): OutboundResponse | undefined {
  const { id, method } = request;
  const { options, isClosing, calls } = router;
  const envelope = readEnvelope(request.params, request.size);
  if (!envelope.ok) return errorResponse(id, envelope.error);
  const { dialect } = envelope.peer;
  if (isClosing) return errorResponse(id, dialect.projectError(shuttingDown));
  const { handlers } = options;
  const discovered = (server: ServerDescription) =>
    dialect.discoverResult(server, statelessVersions, options.discovery);
  let handler: RequestHandler | undefined;
  if (method === Method.discover) {
    const { describe } = options;
    if (!describe) return { jsonrpc: '2.0', id, result: discovered(options.server) };
    handler = async (_, call) => discovered(await describe(call));
  } else if (method === Method.initialize) return errorResponse(id, initializeInEnvelope);
  else handler = dialect.offers(method) ? handlers.get(method) : undefined;
  handler ??= handlers.get(anyMethod);
  if (!handler) return errorResponse(id, methodNotOffered(method));
  const run = mayRequireInput.has(method) ? calls.suspendable(handler) : handler;
  calls.start(new StatelessCall(request, run, calls, envelope, replies), router.lastHeardAt);
  return undefined;
}

/**
 * Starts the call of a legacy request without a session. `initialize` is answered without creating
 * a session.
 * @returns the answer, if available at once
 */
function serveSessionless(
  request: InboundRequest,
  revision: string,
  router: ServerRouter,
  replies: Replies,
): OutboundResponse | undefined {
  const { id, method, params } = request;
  const { options, isClosing } = router;
  if (isClosing) return errorResponse(id, shuttingDown);
  if (method === Method.ping) return { jsonrpc: '2.0', id, result: {} };
  if (method === Method.initialize) {
    const reading = readInitialize(params);
    if (!reading.ok) return errorResponse(id, invalidInitialize(reading.fault));
    const { describe } = options;
    const { client: peer } = reading;
    if (!describe) return acceptedInitialize(id, peer, withoutSession(options.server));
    const initialize = async (_: unknown, call: RequestContext) =>
      peer.dialect.initializeResult(withoutSession(await describe(call)));
    const call = new StatelessCall(request, initialize, router.calls, { peer }, replies);
    router.calls.start(call, router.lastHeardAt);
    return undefined;
  }
  if (sessionMethods.has(method)) return errorResponse(id, needsSession(method));
  const handler = options.handlers.get(method) ?? options.handlers.get(anyMethod);
  if (!handler) return errorResponse(id, methodNotOffered(method));
  // The client could not negotiate a log level, so it gets no log messages.
  const caller = { peer: unknownClient(revision), logLevel: 'none' } as const;
  const { calls, lastHeardAt } = router;
  calls.start(new StatelessCall(request, handler, calls, caller, replies), lastHeardAt);
  return undefined;
}

/** Resumes the run of an earlier request, whose client is not connected here. */
function resume(request: InboundRequest, router: ServerRouter, replies: Replies): void {
  const { id, method, origin } = request;
  const { options, isClosing, calls } = router;
  const handler = options.handlers.get(method);
  const { peer } = (origin?.resumes ?? {}) as Partial<ResumedRun>;
  if (isClosing || !handler || !peer) return replies.add(errorResponse(id, shuttingDown), request);
  const caller = { peer, logLevel: 'none' } as const;
  calls.start(new StatelessCall(request, handler, calls, caller, replies), router.lastHeardAt);
}

/** A call without a session. */
class StatelessCall extends Call {
  override sendRequest(spec: OutboundRequest): Promise<JsonObject> {
    if (this.origin?.noRequestsReason !== undefined) return super.sendRequest(spec);
    const { method } = spec;
    const { dialect, info } = this.peer;
    const message = `${method} was not sent: the client ${printableName(info.name)} uses revision ${dialect.version}, which has no server requests`;
    return rejected(new RuntimeError('CAPABILITY_MISSING', message));
  }

  override get sendsRequests(): boolean {
    return false;
  }

  override roots(): Promise<RootsReport> {
    const noRequestsReason = this.origin?.noRequestsReason;
    if (noRequestsReason !== undefined) return Promise.resolve(unavailableRoots(noRequestsReason));
    return Promise.resolve(
      declaresRoots(this.peer.capabilities) ? unsupportedRoots : undeclaredRoots,
    );
  }

  /** Sends the notification on this request's stream, the only one its client has. */
  override announce(method: string, params: JsonObject): void {
    this.notify(method, params);
  }
}

const unsupportedRoots: RootsReport = {
  ...undeclaredRoots,
  status: 'unsupported',
  problem: 'Roots cannot be requested on behalf of this request',
};

/** Methods that keep state for a client, or would reveal other clients' state. */
const sessionMethods: ReadonlySet<string> = new Set([
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
]);

function needsSession(method: string): WireError {
  const message = `Method not found: "${method}" needs a session, and this server has none`;
  return { code: ErrorCode.methodNotFound, message };
}

/** The server description without capabilities that need a session. */
function withoutSession(server: ServerDescription): ServerDescription {
  const kept = Object.entries(server.capabilities)
    .filter(([name]) => name !== 'logging')
    .map(([name, capability]) => [
      name,
      isJsonObject(capability) ? withoutSessionMembers(capability) : capability,
    ]);
  return { ...server, capabilities: Object.fromEntries(kept) as JsonObject };
}

const sessionMembers: ReadonlySet<string> = new Set(['listChanged', 'subscribe', 'list']);

function withoutSessionMembers(capability: object): object {
  const members = Object.entries(capability).filter(([name]) => !sessionMembers.has(name));
  return Object.fromEntries(members);
}

/** Describes the client of a request of which only the revision is known. */
export function unknownClient(revision: string): PeerDescription {
  return {
    dialect: negotiateDialect(revision),
    requestedVersion: revision,
    info: { name: 'unknown', version: 'unknown' },
    capabilities: {},
  };
}
