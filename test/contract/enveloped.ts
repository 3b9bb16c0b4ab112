/** Requests of the modern era. */
import type { JsonObject } from 'mcp-actors';
import { request } from 'mcp-actors/testing';
import type { Message, ScriptedPeer } from 'mcp-actors/testing';

const prefix = 'io.modelcontextprotocol';

export interface EnvelopeOptions {
  readonly protocolVersion?: unknown;
  readonly capabilities?: unknown;
  readonly clientInfo?: unknown;
  readonly logLevel?: unknown;
}

/** The `_meta` of a request; a member that is given as undefined is left out. */
function envelope(options: EnvelopeOptions = {}): JsonObject {
  const members = {
    protocolVersion: '2026-07-28',
    capabilities: {},
    clientInfo: { name: 'scripted-peer', version: '1.0.0' },
    ...options,
  };
  const { protocolVersion, capabilities, clientInfo } = members;
  const given = {
    protocolVersion,
    clientCapabilities: capabilities,
    clientInfo,
    logLevel: options.logLevel,
  };
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [[`${prefix}/${name}`, value]],
    ),
  );
}

/** A request that carries its envelope. */
export function enveloped(
  id: unknown,
  method: string,
  params: JsonObject = {},
  options?: EnvelopeOptions,
): Message {
  const own = (params['_meta'] ?? {}) as JsonObject;
  return request(id, method, { ...params, _meta: { ...envelope(options), ...own } });
}

interface ModernPeer {
  readonly peer: ScriptedPeer;
}

let count = 0;

/** Asks with an envelope, and gives the result; an error is thrown. */
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

/** Calls a tool with an envelope, and gives the result. */
export const callModern = (
  serving: ModernPeer,
  name: string,
  args: JsonObject = {},
  options?: EnvelopeOptions,
) => askModern(serving, 'tools/call', { name, arguments: args }, options);
