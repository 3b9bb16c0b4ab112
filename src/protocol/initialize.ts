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

/**
 * What a session knows about its client after the negotiation. It never changes, and lives as long
 * as the session: so it has the members that the protocol names, and no others.
 */
export interface InitializedClient extends PeerDescription {
  /** A digest of the original params: a repeated `initialize` must have the same. */
  readonly fingerprint: string;
}

export type InitializeReading =
  | { readonly ok: true; readonly client: InitializedClient }
  | { readonly ok: false; readonly fault: string };

/** The longest `initialize`, UTF-16 units of its params. */
const maxInitializeLength = 64 * 1024;

/**
 * The longest description of a client, UTF-16 units of its JSON: in `initialize` what is kept of it
 * for the session, in an envelope all of it.
 */
export const maxClientLength = 8 * 1024;

/** The longest version of the protocol that may be asked for; dates have 10 characters. */
const maxVersionLength = 100;

/**
 * The capabilities of a client that are kept. What belongs to no known extension stays too, because
 * authors read it: what a client and a server have agreed on, and we do not know.
 */
const keptCapabilities = [
  ...['roots', 'sampling', 'elicitation', 'tasks'],
  ...['experimental', 'extensions'],
] as const;

/** Reads the params of `initialize`. A fault names the path of the wrong member. */
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
    return tooLong('what is kept of clientInfo and capabilities', length, maxClientLength);
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

/** How long what is said of a client is, UTF-16 units of its JSON. */
export function lengthOfClient(info: unknown, capabilities: JsonObject): number {
  return (JSON.stringify(info) ?? '').length + JSON.stringify(capabilities).length;
}

function known(capabilities: JsonObject): JsonObject {
  const named = keptCapabilities.filter((name) => Object.hasOwn(capabilities, name));
  return Object.fromEntries(named.map((name) => [name, capabilities[name]]));
}

/**
 * Tells texts apart, at the cost of one pass: two multiplicative hashes of 32 bits (cyrb53). It does not
 * protect: a client that finds two texts with the same digest gets its own answer twice.
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
  return { ok: false, fault: `${path} must be ${wanted}, this is ${inspectValue(got)}` };
}

function tooLong(what: string, length: number, max: number): InitializeReading {
  return { ok: false, fault: `${what} may have ${max} characters of JSON, this has ${length}` };
}
