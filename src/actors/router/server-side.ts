/**
 * The side of a server's session. Its client opens the session with `initialize`, or says with each request
 * who it is; then nothing of a request outlives it, and its client is never sent one. A transport without
 * sessions brings requests of the legacy era of which nothing is known but the revision.
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
  /** How the server describes itself. */
  readonly server: ServerDescription;
  /** How long clients may cache what the server says of itself. */
  readonly discovery: CacheHints;
  /** What the server has for the client of a call, if that is found out for each client. */
  readonly describe?: ((call: RequestContext) => Promise<ServerDescription>) | undefined;
  /** Hands a notification to the upstream. @returns false if there is none that takes it */
  forwards?(notification: InboundNotification): boolean;
}

type ServerRouter = RouterContext<SessionRouterInput, ServerRouterOptions>;

export const serverSide: RouterSide<SessionRouterInput, ServerRouterOptions> = {
  kindOf({ method, params, origin, size }, gate) {
    if (origin?.resumes) return 'resuming';
    const isEnveloping = params?.['_meta'] !== undefined && isEnveloped(params);
    if (origin?.revision !== undefined) {
      return isEnveloping || method === Method.discover ? 'stateless' : 'sessionless';
    }
    // No era has an `initialize` with an envelope, and discovery settles nothing: a client may go on with
    // `initialize`.
    if (method === Method.discover) return 'stateless';
    if (method === Method.initialize) return isEnveloping ? 'stateless' : 'greeting';
    if (!isEnveloping) return gate.state === 'modern' ? 'stateless' : 'ordinary';
    return gate.state === 'unopened' && readEnvelope(params, size).ok ? 'settling' : 'stateless';
  },

  serve(request, kind, router, replies) {
    const { owner } = router.input;
    if (kind === 'greeting') {
      const { id, params, origin } = request;
      const reading = readInitialize(params);
      return owner.send({ type: 'initialize.received', request: { id, origin }, reading });
    }
    if (kind === 'resuming') return resume(request, router, replies);
    if (kind === 'settling') owner.send({ type: 'envelope.received' });
    const revision = request.origin?.revision;
    const response =
      kind === 'sessionless' && revision !== undefined
        ? serveSessionless(request, revision, router, replies)
        : serveStateless(request, router, replies);
    if (response) replies.add(response, request);
  },

  refusalInBatch: ({ method }) => (method === Method.initialize ? initializeInBatch : undefined),
  tooEarly: (method) =>
    invalidRequest(`${inspectValue(method)} came before "initialize"; only "ping" may`),
  tooLate: shuttingDown,
  notOffered: methodNotOffered,

  notification(notification, { input, options }) {
    const { method } = notification;
    if (method === Method.initialized) {
      input.owner.send({ type: 'initialized.received' });
      return true;
    }
    const isTaken = options.forwards?.(notification);
    if (method === Method.rootsListChanged) {
      input.owner.send({ type: 'roots.changed' });
    } else if (!isTaken) {
      const message = `Nobody handles the notification ${inspectValue(method)}`;
      options.report({ level: 'debug', name: 'notification.ignored', message });
    }
    return false;
  },

  /** No client mints ids like ours. */
  cancelledUnknown(id, reason, { input }) {
    input.correlation.send({ type: 'remote.cancelled', id, reason });
  },

  /** Our ids are known to this client alone. */
  isMeantAsAnswer: () => true,
  answersInvalid: () => true,
};

/** @see MCP 2026-07-28, basic/versioning, "Backward Compatibility with Initialization-Based Versions" */
const initializeInEnvelope: WireError = {
  code: ErrorCode.methodNotFound,
  message: `Method not found: "initialize" is not for requests that say in "_meta" which version they are of; send it without, or no "initialize" at all`,
};

const initializeInBatch: WireError = invalidRequest('"initialize" must not be part of a batch');

function invalidRequest(reason: string): WireError {
  return { code: ErrorCode.invalidRequest, message: `Invalid request: ${reason}` };
}

/** Starts the call of a request that says itself who its client is. @returns the answer, if there is one at once */
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
 * Starts the call of a request without a session. `initialize` is answered, and changes nothing.
 * @returns the answer, if there is one at once
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
    const greet = async (_: unknown, call: RequestContext) =>
      peer.dialect.initializeResult(withoutSession(await describe(call)));
    const greeting = new StatelessCall(request, greet, router.calls, { peer }, replies);
    router.calls.start(greeting, router.lastHeardAt);
    return undefined;
  }
  if (sessionMethods.has(method)) return errorResponse(id, needsSession(method));
  const handler = options.handlers.get(method) ?? options.handlers.get(anyMethod);
  if (!handler) return errorResponse(id, methodNotOffered(method));
  // It was not told that there would be log messages, and could not say how severe ones it wants.
  const caller = { peer: unknownClient(revision), logLevel: 'none' } as const;
  const { calls, lastHeardAt } = router;
  calls.start(new StatelessCall(request, handler, calls, caller, replies), lastHeardAt);
  return undefined;
}

/** Goes on with the work of an earlier request, whose client is not here. */
function resume(request: InboundRequest, router: ServerRouter, replies: Replies): void {
  const { id, method, origin } = request;
  const { options, isClosing, calls } = router;
  const handler = options.handlers.get(method);
  const { peer } = (origin?.resumes ?? {}) as Partial<ResumedRun>;
  if (isClosing || !handler || !peer) return replies.add(errorResponse(id, shuttingDown), request);
  const caller = { peer, logLevel: 'none' } as const;
  calls.start(new StatelessCall(request, handler, calls, caller, replies), router.lastHeardAt);
}

/** The call of a request without a session. */
class StatelessCall extends Call {
  override sendRequest(spec: OutboundRequest): Promise<JsonObject> {
    if (this.origin?.noRequestsReason !== undefined) return super.sendRequest(spec);
    const { method } = spec;
    const { dialect, info } = this.peer;
    const message = `${method} was not sent: the client ${printableName(info.name)} speaks revision ${dialect.version}, in which a server sends no requests`;
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

  /** Its client has no other stream: what belongs to no request goes with this one, while it is open. */
  override announce(method: string, params: JsonObject): void {
    this.notify(method, params);
  }
}

const unsupportedRoots: RootsReport = {
  ...undeclaredRoots,
  status: 'unsupported',
  problem: 'This request cannot ask its client for them',
};

/** The methods that keep something for a client, or would show it what other clients have. */
const sessionMethods: ReadonlySet<string> = new Set([
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
]);

function needsSession(method: string): WireError {
  const message = `Method not found: "${method}" needs a session, and this server keeps none`;
  return { code: ErrorCode.methodNotFound, message };
}

/** The server without the capabilities that need a session: a change could reach no client. */
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

/** The client of a request of which nothing is known but the revision. */
export function unknownClient(revision: string): PeerDescription {
  return {
    dialect: negotiateDialect(revision),
    requestedVersion: revision,
    info: { name: 'unknown', version: 'unknown' },
    capabilities: {},
  };
}
