/**
 * A feature of a server: the methods that it answers and the capabilities that it declares. All
 * sessions of a server share its features. Features also read their requests' params here.
 */
import type { RequestContext, RequestHandler } from '../../actors/request-context.ts';
import { inspectValue } from '../../protocol/classify.ts';
import { RuntimeError, fromWireError, invalidParams } from '../../protocol/errors.ts';
import type { ProtocolError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { KnownHints } from '../define/caching.ts';
import type { ErrorExposure } from '../define/tool.ts';
import { methodNotOffered } from '../../protocol/methods.ts';
import { closestMatch } from '../../protocol/suggestions.ts';
import { printableName } from '../../protocol/printable.ts';
import type { Changing } from './list-changed.observable.ts';
import type { VisibleList } from './visibility.ts';

/** Answers one method. */
export interface FeatureHandler extends RequestHandler {
  /**
   * Turns an error that middleware has thrown into a result, or throws it again. The handler deals
   * with its own errors itself.
   */
  readonly recover?: (error: unknown, call: RequestContext) => JsonObject;
}

export interface Feature {
  readonly capabilities: JsonObject;
  readonly handlers: { readonly [method: string]: FeatureHandler };
  /** The list whose changes clients are notified of. */
  readonly list?: ChangingList;
}

/** A list of a feature. */
export interface ChangingList {
  /** The capability that declares it. */
  readonly capability: 'tools' | 'resources' | 'prompts';
  readonly sources: readonly (Changing & VisibleList)[];
  /** The method of the notification. */
  readonly changed: string;
  /** What clients see of its items. */
  shown(): readonly JsonObject[];
}

/** What features read of the server's definition with each request, because it may be replaced. */
export interface InForce {
  /** How long clients may cache what they get. */
  readonly caching: KnownHints;
  /** What clients see of a bug, unless the tool says so itself; `show` by default. */
  readonly errors: ErrorExposure | undefined;
}

/**
 * Reads a member of a request's params that must be a string.
 *
 * @throws {ProtocolError} -32602
 */
export function stringParam(
  params: JsonObject | undefined,
  name: string,
  path: string = name,
): string {
  const value = params?.[name];
  if (typeof value === 'string') return value;
  throw invalidParams(`"${path}" must be a string, this is ${inspectValue(value)}`);
}

/** The first of the names that exist, for the message to someone who asked for another one. */
export function someOf(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const shown = names.slice(0, 20).join(', ');
  return names.length > 20 ? `${shown} and ${names.length - 20} more` : shown;
}

/** How long a name may be, and how many others it is compared with: comparing holds the loop up. */
const compared = { length: 60, names: 200 };

/** The error for a name that nothing of this kind has, with the nearest and the first of those that exist. */
export function unknownName(kind: string, name: string, known: readonly string[]): ProtocolError {
  const near =
    name.length > compared.length ? undefined : closestMatch(name, known.slice(0, compared.names));
  const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
  return invalidParams(
    `unknown ${kind} ${inspectValue(name)}${hint}; this server has ${someOf(known)}`,
  );
}

/** Refuses the method to clients whose revision does not have it. */
export function ifOffered(handler: RequestHandler): RequestHandler {
  return (params, call) => {
    if (call.request.peer.dialect.offers(call.request.method)) return handler(params, call);
    throw fromWireError(methodNotOffered(call.request.method));
  };
}

/**
 * Refuses what is about tasks to a client that takes none.
 *
 * @throws {RuntimeError} CAPABILITY_MISSING
 */
export function refuseWithoutTasks({ request: { peer: client, method } }: RequestContext): void {
  const lacking = client.dialect.missingForTasks(client.capabilities);
  if (!lacking) return;
  const { why, required: requiredCapabilities } = lacking;
  const message = `The client ${printableName(client.info.name)} ${why}, which ${method} is about`;
  throw new RuntimeError('CAPABILITY_MISSING', message, { requiredCapabilities });
}
