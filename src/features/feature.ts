/** A feature of a server: the methods that it answers and the capabilities that it declares. Made once; all sessions of the server have the same. */
import type { Exchange, RequestHandler } from '../actors/exchange.ts';
import { describe } from '../protocol/classify.ts';
import { invalidParams } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import type { Changing } from './list-changed.observable.ts';

/** Answers one method. */
export interface FeatureHandler extends RequestHandler {
  /** Makes a result of what code around it has thrown, or throws it again. What it throws itself it has seen already. */
  readonly recover?: (error: unknown, call: Exchange) => JsonObject;
}

export interface Feature {
  readonly capabilities: JsonObject;
  readonly handlers: { readonly [method: string]: FeatureHandler };
  /** The list whose changes its clients are told of. */
  readonly list?: {
    readonly sources: readonly Changing[];
    /** The notification that tells. */
    readonly changed: string;
  };
}

/** The context that the handler of a call gets: one for each call. */
export type ContextOf = (call: Exchange) => HandlerContext;

/**
 * A member of a request's params that must be a string.
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
  throw invalidParams(`"${path}" must be a string, this is ${describe(value)}`);
}

/** Some of what there is, for a person who has asked for something else. */
export function someOf(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const shown = names.slice(0, 20).join(', ');
  return names.length > 20 ? `${shown} and ${names.length - 20} more` : shown;
}
