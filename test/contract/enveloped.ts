/** Modern requests of a scripted peer. */
import type { JsonObject } from 'mcp-actors';
import { enveloped } from 'mcp-actors/testing';
import type { EnvelopeOptions, ScriptedPeer } from 'mcp-actors/testing';

interface ModernPeer {
  readonly peer: ScriptedPeer;
}

let count = 0;

/** Sends a request with an envelope and returns the result. Throws on an error. */
export async function askModern(
  { peer }: ModernPeer,
  method: string,
  params?: JsonObject,
  options?: EnvelopeOptions,
): Promise<JsonObject> {
  const id = `modern-${++count}`;
  peer.send(enveloped(id, method, params, options));
  const { result, error } = await peer.response(id);
  if (error) throw Object.assign(new Error(error.message), error);
  return result as JsonObject;
}

/** Calls a tool with an envelope and returns the result. */
export const callModern = (
  serving: ModernPeer,
  name: string,
  args: JsonObject = {},
  options?: EnvelopeOptions,
) => askModern(serving, 'tools/call', { name, arguments: args }, options);
