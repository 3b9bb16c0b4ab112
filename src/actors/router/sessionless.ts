/**
 * A request of the legacy era without a session. Nothing is known of its client but the revision,
 * and that only from its transport. `initialize` is answered, and changes nothing.
 *
 * @see MCP 2025-11-25, basic/transports, "Session Management"
 */
import { accepted, invalidInitialize } from '../../machines/initialize-answers.ts';
import { isJsonObject } from '../../protocol/classify.ts';
import { negotiateDialect } from '../../protocol/dialects/registry.ts';
import { ErrorCode, errorResponse, shuttingDown } from '../../protocol/errors.ts';
import type {
  InboundRequest,
  JsonObject,
  OutboundResponse,
  WireError,
} from '../../protocol/frames.ts';
import type { ServerDescription } from '../../protocol/implementation.ts';
import { readInitialize } from '../../protocol/initialize.ts';
import type { PeerDescription } from '../../protocol/initialize.ts';
import { Method } from '../../protocol/methods.ts';
import type { Caller, RequestHandler } from '../exchange.ts';
import type { CallScope } from './call.ts';
import { methodNotOffered } from './refusals.ts';

/** What becomes of it: an answer at once, or a handler, and who calls. */
type Admitted =
  | { readonly response: OutboundResponse }
  | (Caller & { readonly handler: RequestHandler });

/** The handlers for such requests. */
interface Handlers {
  readonly server: ServerDescription;
  handlerOf(method: string): RequestHandler | undefined;
}

export function admitSessionless(
  request: InboundRequest,
  revision: string,
  scope: Pick<CallScope, 'isClosing'>,
  handlers: Handlers,
): Admitted {
  const { id, method, params } = request;
  if (scope.isClosing()) return { response: errorResponse(id, shuttingDown) };
  if (method === Method.ping) return { response: { jsonrpc: '2.0', id, result: {} } };
  if (method === Method.initialize) {
    const reading = readInitialize(params);
    return reading.ok
      ? accepted({ request }, reading.client, withoutSession(handlers.server))
      : { response: errorResponse(id, invalidInitialize(reading.fault)) };
  }
  if (ofSessions.has(method)) return { response: errorResponse(id, needsSession(method)) };
  const handler = handlers.handlerOf(method);
  if (!handler) return { response: errorResponse(id, methodNotOffered(method)) };
  // It was not told that there would be log messages, and could not say how severe ones it wants.
  return { handler, peer: unknownClient(revision), logLevel: 'none' };
}

/** What would be kept for a client, or shown to it of what others have. */
const ofSessions: ReadonlySet<string> = new Set([
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
]);

function needsSession(method: string): WireError {
  const message = `Method not found: "${method}" needs a session, and this server keeps none`;
  return { code: ErrorCode.methodNotFound, message };
}

/** The server without the capabilities that need a session: nobody could be told of a change. */
function withoutSession(server: ServerDescription): ServerDescription {
  const kept = Object.entries(server.capabilities)
    .filter(([name]) => name !== 'logging')
    .map(([name, capability]) => [
      name,
      isJsonObject(capability) ? unlisted(capability) : capability,
    ]);
  return { ...server, capabilities: Object.fromEntries(kept) as JsonObject };
}

const membersOfSessions: ReadonlySet<string> = new Set(['listChanged', 'subscribe', 'list']);

function unlisted(capability: object): object {
  const members = Object.entries(capability).filter(([name]) => !membersOfSessions.has(name));
  return Object.fromEntries(members);
}

function unknownClient(revision: string): PeerDescription {
  return {
    dialect: negotiateDialect(revision),
    requestedVersion: revision,
    info: { name: 'unknown', version: 'unknown' },
    capabilities: {},
  };
}
