/**
 * Reads the client's `initialize`.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Initialization"
 */
import { inspectValue, isJsonObject } from './classify.ts';
import type { Dialect } from './dialects/dialect.ts';
import { negotiateDialect } from './dialects/registry.ts';
import type { JsonObject } from './frames.ts';
import { validateImplementation, keptImplementation, withShortNames } from './implementation.ts';
import type { Implementation } from './implementation.ts';

/** Description of a peer, from the handshake or from one request's envelope. */
export interface PeerDescription {
  /** The negotiated revision. */
  readonly dialect: Dialect;
  /** The requested version. Differs from `dialect.version` if we do not support it. */
  readonly requestedVersion: string;
  /** Name, version and further members of the peer's identity. */
  readonly info: Implementation & JsonObject;
  /** Capabilities declared by the peer. */
  readonly capabilities: JsonObject;
}

/**
 * Description of a session's client. Immutable and kept as long as the session, so it has only the
 * members defined by the protocol.
 */
export interface InitializedClient extends PeerDescription {
  /** Digest of the original params, to recognize a repeated `initialize`. */
  readonly fingerprint: string;
}

export type InitializeReading =
  | { readonly ok: true; readonly client: InitializedClient }
  | { readonly ok: false; readonly fault: string };

/** Maximum length of the params of `initialize`, UTF-16 units. */
const maxInitializeLength = 64 * 1024;

/**
 * Maximum length of a client's description, UTF-16 units of its JSON. In `initialize` it applies to
 * the members kept for the session, in an envelope to all.
 */
export const maxClientLength = 8 * 1024;

/** Maximum length of a requested version; dates have 10 characters. */
const maxVersionLength = 100;

/**
 * Client capabilities to keep. Experimental and extension capabilities are included, because
 * authors read them.
 */
const keptCapabilities = [
  ...['roots', 'sampling', 'elicitation', 'tasks'],
  ...['experimental', 'extensions'],
] as const;

/** Reads the params of `initialize`. A fault names the path of the invalid member. */
export function readInitialize(params: JsonObject | undefined): InitializeReading {
  if (params === undefined) return wrong('params', 'an object', params);
  const { protocolVersion, capabilities, clientInfo } = params;
  if (typeof protocolVersion !== 'string' || protocolVersion.length > maxVersionLength) {
    const wanted = `a string of at most ${maxVersionLength} characters`;
    return wrong('params.protocolVersion', wanted, protocolVersion);
  }
  if (!isJsonObject(capabilities)) return wrong('params.capabilities', 'an object', capabilities);
  const infoFault = validateImplementation(clientInfo);
  if (infoFault) {
    return wrong(`params.clientInfo${infoFault.path}`, infoFault.wanted, infoFault.got);
  }
  const text = JSON.stringify(params);
  if (text.length > maxInitializeLength) {
    return tooLong('params', text.length, maxInitializeLength);
  }
  const info = keptImplementation(clientInfo as Implementation & JsonObject);
  const kept = known(capabilities);
  const length = lengthOfClient(info, kept);
  if (length > maxClientLength) {
    return tooLong('clientInfo and capabilities together', length, maxClientLength);
  }
  return {
    ok: true,
    client: {
      dialect: negotiateDialect(protocolVersion),
      requestedVersion: protocolVersion,
      info: withShortNames(info),
      capabilities: kept,
      fingerprint: digestOfText(text),
    },
  };
}

/** Length of a client's description, UTF-16 units of its JSON. */
export function lengthOfClient(info: unknown, capabilities: JsonObject): number {
  return (JSON.stringify(info) ?? '').length + JSON.stringify(capabilities).length;
}

function known(capabilities: JsonObject): JsonObject {
  const named = keptCapabilities.filter((name) => Object.hasOwn(capabilities, name));
  return Object.fromEntries(named.map((name) => [name, capabilities[name]]));
}

/**
 * A fast digest: two multiplicative hashes of 32 bits (cyrb53). Not cryptographic: a client that
 * finds a collision only gets its own answer twice.
 */
function digestOfText(text: string): string {
  let [low, high] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    low = Math.imul(low ^ unit, 2654435761);
    high = Math.imul(high ^ unit, 1597334677);
  }
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return `${text.length}-${(high >>> 0).toString(36)}-${(low >>> 0).toString(36)}`;
}

function wrong(path: string, wanted: string, got: unknown): InitializeReading {
  return { ok: false, fault: `${path} must be ${wanted}, got ${inspectValue(got)}` };
}

function tooLong(what: string, length: number, max: number): InitializeReading {
  return { ok: false, fault: `${what} must have at most ${max} characters of JSON, got ${length}` };
}
