/**
 * Features: capabilities and method handlers of a server, shared by all of its sessions. Also contains
 * helpers for parsing params.
 */
import type { RequestContext, RequestHandler } from '../../actors/request-context.ts';
import { inspectValue } from '../../protocol/classify.ts';
import { RuntimeError, fromWireError, invalidParams } from '../../protocol/errors.ts';
import type { ProtocolError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { ServerCacheHints } from '../define/caching.ts';
import type { ErrorExposure } from '../define/tool.ts';
import { methodNotOffered } from '../../protocol/methods.ts';
import { closestMatch } from '../../protocol/suggestions.ts';
import { printableName } from '../../protocol/printable.ts';
import type { ChangeSource } from './list-changes.observable.ts';
import type { VisibleList } from './visibility.ts';

/** Handler of one method. */
export interface FeatureHandler extends RequestHandler {
  /** Converts an error thrown by middleware to a result, or rethrows it. */
  readonly recover?: (error: unknown, call: RequestContext) => JsonObject;
}

export interface Feature {
  readonly capabilities: JsonObject;
  readonly handlers: { readonly [method: string]: FeatureHandler };
  /** List whose changes are sent to clients, if any. */
  readonly list?: ChangingList;
}

/** List of a feature that can change. */
export interface ChangingList {
  /** Capability that declares the list. */
  readonly capability: 'tools' | 'resources' | 'prompts';
  readonly sources: readonly (ChangeSource & VisibleList)[];
  /** Method of the change notification. */
  readonly notification: string;
  /** Wire form of all items, to detect changes. */
  describeItems(): readonly JsonObject[];
}

/** Settings of the current definition, read for each request because the definition can be replaced. */
export interface CurrentSettings {
  /** Cache hints of results. */
  readonly caching: ServerCacheHints;
  /** Exposure of unexpected tool errors. Default: `show`. */
  readonly errors: ErrorExposure | undefined;
}

/**
 * Returns a required string member of params.
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
  throw invalidParams(`"${path}" must be a string, got ${inspectValue(value)}`);
}

/** Joins up to 20 names for an error message. */
export function summarizeNames(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const shown = names.slice(0, 20).join(', ');
  return names.length > 20 ? `${shown} and ${names.length - 20} more` : shown;
}

/** Limits of the search for a similar name, which blocks the event loop. */
const comparisonLimits = { length: 60, names: 200 };

/** Error for an unknown name, with a suggestion and the existing names. */
export function unknownNameError(
  kind: string,
  name: string,
  known: readonly string[],
): ProtocolError {
  const near =
    name.length > comparisonLimits.length
      ? undefined
      : closestMatch(name, known.slice(0, comparisonLimits.names));
  const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
  return invalidParams(
    `unknown ${kind} ${inspectValue(name)}${hint}; this server has ${summarizeNames(known)}`,
  );
}

/** Rejects the method for clients whose revision lacks it. */
export function ifOffered(handler: RequestHandler): RequestHandler {
  return (params, call) => {
    if (call.request.peer.dialect.offers(call.request.method)) return handler(params, call);
    throw fromWireError(methodNotOffered(call.request.method));
  };
}

/**
 * Rejects a task method for a client that does not support tasks.
 *
 * @throws {RuntimeError} CAPABILITY_MISSING
 */
export function requireTaskSupport({ request: { peer: client, method } }: RequestContext): void {
  const lacking = client.dialect.missingForTasks(client.capabilities);
  if (!lacking) return;
  const { why, required: requiredCapabilities } = lacking;
  const message = `${method} was rejected: the client ${printableName(client.info.name)} ${why}`;
  throw new RuntimeError('CAPABILITY_MISSING', message, { requiredCapabilities });
}
