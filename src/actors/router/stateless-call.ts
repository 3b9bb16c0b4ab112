/**
 * A request of the modern era: it says itself who its client is, and nothing of it outlives it. Its
 * client is never sent a request.
 *
 * @see MCP 2026-07-28, basic, "Statelessness"
 */
import { RuntimeError, errorResponse, shuttingDown } from '../../protocol/errors.ts';
import { isEnveloped, readEnvelope } from '../../protocol/envelope.ts';
import type { CacheHints } from '../../protocol/dialects/dialect.ts';
import { statelessVersions } from '../../protocol/dialects/registry.ts';
import type { InboundRequest, JsonObject, OutboundResponse } from '../../protocol/frames.ts';
import type { ServerDescription } from '../../protocol/implementation.ts';
import { mayRequireInput } from '../../protocol/input-required.ts';
import { Method } from '../../protocol/methods.ts';
import { printableName } from '../../protocol/printable.ts';
import { declaresRoots } from '../../protocol/roots.ts';
import { unaskedRoots } from '../../machines/roots-report.ts';
import type { RootsReport } from '../../machines/roots-report.ts';
import { undeclaredRoots } from '../../machines/roots.machine.ts';
import { refused } from '../exchange.ts';
import type { RequestHandler, RequestSpec } from '../exchange.ts';
import { Call } from './call.ts';
import type { CallScope, Replies } from './call.ts';
import { initializeInEnvelope, methodNotOffered } from './refusals.ts';
import { admitSessionless } from './sessionless.ts';

export class StatelessCall extends Call {
  override ask(spec: RequestSpec): Promise<JsonObject> {
    if (this.origin?.unaskable !== undefined) return super.ask(spec);
    const { method } = spec;
    const { dialect, info } = this.peer;
    const message = `${method} was not sent: the client ${printableName(info.name)} speaks revision ${dialect.version}, in which a server sends no requests`;
    return refused(new RuntimeError('CAPABILITY_MISSING', message));
  }

  override get sendsRequests(): boolean {
    return false;
  }

  override roots(): Promise<RootsReport> {
    const unaskable = this.origin?.unaskable;
    if (unaskable !== undefined) return Promise.resolve(unaskedRoots(unaskable));
    return Promise.resolve(
      declaresRoots(this.peer.capabilities) ? unsupportedRoots : undeclaredRoots,
    );
  }

  /** Nothing may be said that belongs to no request: it belongs to this one, while it is open. */
  override announce(method: string, params: JsonObject): void {
    this.notify(method, params);
  }
}

const unsupportedRoots: RootsReport = {
  ...undeclaredRoots,
  status: 'unsupported',
  problem: 'This request cannot ask its client for them',
};

/** What such requests are answered with. */
export interface StatelessService {
  /** How the server describes itself. */
  readonly server: ServerDescription;
  /** How long clients may cache what the server says of itself. */
  readonly discovery: CacheHints;
  /** The handler of a method, or undefined if the server does not offer it. */
  handlerOf(method: string): RequestHandler | undefined;
}

/** True for a request that says itself who its client is, or has to. */
export function isStateless({ method, params }: InboundRequest): boolean {
  return isEnveloped(params) || method === Method.discover;
}

/** True for a request of the legacy era that belongs to no session: its transport keeps none. */
export function isSessionless({ origin }: InboundRequest): boolean {
  return origin?.revision !== undefined;
}

/**
 * True for a request after which the era of a session is settled. Discovery settles nothing, nor does
 * an `initialize` with an envelope, which no era has: a client may go on with `initialize`.
 */
export function settlesEra({ method, params, size }: InboundRequest): boolean {
  if (method === Method.discover || method === Method.initialize) return false;
  return isEnveloped(params) && readEnvelope(params, size).ok;
}

/**
 * What becomes of a request that says itself who its client is: the call to start, or the answer at
 * once.
 */
export function admit(
  request: InboundRequest,
  scope: CallScope,
  service: StatelessService,
  replies: Replies,
): StatelessCall | OutboundResponse {
  const { id, method, origin } = request;
  if (origin?.revision !== undefined && !isStateless(request)) {
    const admitted = admitSessionless(request, origin.revision, scope, service);
    if ('response' in admitted) return admitted.response;
    return new StatelessCall(request, admitted.handler, scope, admitted, replies);
  }
  const envelope = readEnvelope(request.params, request.size);
  if (!envelope.ok) return errorResponse(id, envelope.error);
  const { dialect } = envelope.peer;
  if (scope.isClosing()) return errorResponse(id, dialect.refusal(shuttingDown));
  if (method === Method.discover) {
    const result = dialect.discoverResult(service.server, statelessVersions, service.discovery);
    return { jsonrpc: '2.0', id, result };
  }
  if (method === Method.initialize) return errorResponse(id, initializeInEnvelope);
  const handler = dialect.offers(method) ? service.handlerOf(method) : undefined;
  if (!handler) return errorResponse(id, methodNotOffered(method));
  const run = mayRequireInput.has(method) ? scope.inRounds(handler) : handler;
  return new StatelessCall(request, run, scope, envelope, replies);
}
