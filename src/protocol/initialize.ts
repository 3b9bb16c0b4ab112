/**
 * Reads the client's `initialize`.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Initialization"
 */
import { describe, isJsonObject } from './classify.ts';
import type { Dialect } from './dialects/dialect.ts';
import { negotiateDialect } from './dialects/registry.ts';
import type { JsonObject } from './frames.ts';
import { faultOfImplementation } from './implementation.ts';
import type { Implementation } from './implementation.ts';

/** What is known about a peer: of a session, or of one request that says it itself. */
export interface PeerDescription {
  /** The revision that both sides speak. */
  readonly dialect: Dialect;
  /** The version that was asked for. If we do not speak it, `dialect.version` differs. */
  readonly requestedVersion: string;
  /** Its name, its version and what else it says of itself. */
  readonly info: Implementation & JsonObject;
  /** What it has declared that it can do. */
  readonly capabilities: JsonObject;
}

/** What a session knows about its client after the negotiation. It never changes. */
export interface InitializedClient extends PeerDescription {
  /** The text of the original params: a repeated `initialize` must equal it. */
  readonly fingerprint: string;
}

export type InitializeReading =
  | { readonly ok: true; readonly client: InitializedClient }
  | { readonly ok: false; readonly fault: string };

/** Reads the params of `initialize`. A fault names the path of the wrong member. */
export function readInitialize(params: JsonObject | undefined): InitializeReading {
  if (params === undefined) return fault('params', 'an object', params);
  const { protocolVersion, capabilities, clientInfo } = params;
  if (typeof protocolVersion !== 'string') {
    return fault('params.protocolVersion', 'a string', protocolVersion);
  }
  if (!isJsonObject(capabilities)) return fault('params.capabilities', 'an object', capabilities);
  const infoFault = faultOfImplementation(clientInfo);
  if (infoFault) {
    return fault(`params.clientInfo${infoFault.path}`, infoFault.wanted, infoFault.got);
  }
  return {
    ok: true,
    client: {
      dialect: negotiateDialect(protocolVersion),
      requestedVersion: protocolVersion,
      info: clientInfo as Implementation & JsonObject,
      capabilities,
      fingerprint: JSON.stringify(params),
    },
  };
}

function fault(path: string, wanted: string, got: unknown): InitializeReading {
  return { ok: false, fault: `${path} must be ${wanted}, this is ${describe(got)}` };
}
