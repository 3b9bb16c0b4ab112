import { describe } from '../protocol/classify.ts';
import { invalidParams } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';

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
