/**
 * Whether the client may be asked: only for what it has declared, and what its revision knows.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Capability Negotiation"
 */
import { RuntimeError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { ClientDescription } from '../protocol/initialize.ts';
import { Method } from '../protocol/methods.ts';

/** True for what a person answers: elicitation and sampling. */
export function isHumanPaced(method: string): boolean {
  return method === Method.elicit || method === Method.createMessage;
}

/** CAPABILITY_MISSING, if the client must not be sent this request; undefined if it may. */
export function missingCapability(
  client: ClientDescription,
  method: string,
  params: JsonObject | undefined,
): RuntimeError | undefined {
  const lacking = client.dialect.lacking(method, params, client.capabilities);
  if (lacking === undefined) return undefined;
  const message = `The client ${client.info.name} ${lacking}, so it cannot be sent ${method}`;
  return new RuntimeError('CAPABILITY_MISSING', message);
}
