/**
 * Derives a server's era, revision and profile from its responses to `server/discover` and
 * `initialize`.
 *
 * @see MCP 2026-07-28, basic/versioning, "Backward Compatibility with Initialization-Based
 *   Versions"
 * @see MCP 2025-11-25, basic/lifecycle, "Version Negotiation"
 */
import type { ServerProfile, EraKnowledge } from './connection-context.ts';
import { BoundedMap } from '../../../../src/protocol/bounded-map.ts';
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import {
  handshakeVersions,
  statelessVersions,
} from '../../../../src/protocol/dialects/registry.ts';
import { ErrorCode, RuntimeError } from '../../../../src/protocol/errors.ts';
import type { JsonObject, WireError } from '../../../../src/protocol/frames.ts';
import { anonymous, validateImplementation } from '../../../../src/protocol/implementation.ts';
import type { Implementation } from '../../../../src/protocol/implementation.ts';
import { MetaKey } from '../../../../src/protocol/meta.ts';

/** Outcome of a probe. */
export type EraReading =
  | { readonly era: 'legacy' }
  | { readonly era: 'modern'; readonly profile: ServerProfile }
  /** The server is modern and shares this other revision. */
  | { readonly era: 'again'; readonly revision: string }
  | { readonly era: 'refused'; readonly error: RuntimeError };

export type GreetingReading =
  | { readonly ok: true; readonly profile: ServerProfile }
  | { readonly ok: false; readonly error: RuntimeError };

/** Interprets the result of `server/discover`. */
export function readDiscovery(result: JsonObject): EraReading {
  const { supportedVersions, capabilities, instructions } = result;
  // Some servers answer unknown methods with an empty result.
  if (capabilities === undefined && supportedVersions === undefined) return { era: 'legacy' };
  if (!isJsonObject(capabilities) || !isTexts(supportedVersions)) {
    const error = violation(
      `The result of server/discover must have "supportedVersions" and "capabilities", got ${inspectValue(result)}`,
    );
    return { era: 'refused', error };
  }
  const revision = statelessVersions.find((version) => supportedVersions.includes(version));
  if (revision === undefined) return elsewhere(supportedVersions);
  const info = isJsonObject(result['_meta']) ? result['_meta'][MetaKey.serverInfo] : undefined;
  const profile: ServerProfile = {
    era: 'modern',
    revision,
    info: validateImplementation(info) ? anonymous : (info as Implementation & JsonObject),
    capabilities,
    ...(typeof instructions === 'string' ? { instructions } : {}),
  };
  return { era: 'modern', profile };
}

/** Interprets an error response to `server/discover`: only modern servers use the modern codes. */
export function readProbeError({ code, message, data }: WireError): EraReading {
  if (code === ErrorCode.unsupportedProtocolVersion) {
    const supported = isJsonObject(data) ? data['supported'] : undefined;
    if (!isTexts(supported)) {
      return {
        era: 'refused',
        error: violation(`Error ${code} must list the supported versions: ${message}`),
      };
    }
    const revision = statelessVersions.find((version) => supported.includes(version));
    return revision === undefined ? elsewhere(supported) : { era: 'again', revision };
  }
  if (code === ErrorCode.missingClientCapability || code === ErrorCode.headerMismatch) {
    return {
      era: 'refused',
      error: violation(`The server rejected server/discover: ${code} ${message}`),
    };
  }
  return { era: 'legacy' };
}

/** A modern server that shares no modern revision with the host may still share a legacy one. */
function elsewhere(supported: readonly string[]): EraReading {
  if (handshakeVersions.some((version) => supported.includes(version))) return { era: 'legacy' };
  return { era: 'refused', error: unsupported(supported.join(', ')) };
}

/** Interprets the result of `initialize`. */
export function readGreeting(result: JsonObject): GreetingReading {
  const { protocolVersion, capabilities, serverInfo, instructions, ...others } = result;
  if (typeof protocolVersion !== 'string' || !isJsonObject(capabilities)) {
    const message = `The result of initialize must have "protocolVersion" and "capabilities", got ${inspectValue(result)}`;
    return { ok: false, error: violation(message) };
  }
  if (!handshakeVersions.includes(protocolVersion)) {
    return { ok: false, error: unsupported(protocolVersion) };
  }
  const fault = validateImplementation(serverInfo);
  if (fault) {
    const message = `The server's "serverInfo${fault.path}" must be ${fault.wanted}, got ${inspectValue(fault.got)}`;
    return { ok: false, error: violation(message) };
  }
  return {
    ok: true,
    profile: {
      era: 'legacy',
      revision: protocolVersion,
      info: serverInfo as Implementation & JsonObject,
      capabilities,
      ...(typeof instructions === 'string' ? { instructions } : {}),
      ...(Object.keys(others).length > 0 ? { others } : {}),
    },
  };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function unsupported(theirs: string): RuntimeError {
  const ours = [...statelessVersions, ...handshakeVersions].join(', ');
  const message = `No common protocol revision: the server supports ${inspectValue(theirs)}, the host ${ours}`;
  return new RuntimeError('VERSION_UNSUPPORTED', message);
}

function violation(message: string): RuntimeError {
  return new RuntimeError('PROTOCOL_VIOLATION', message);
}

const remembered = new BoundedMap<string, EraKnowledge>(1024);
const unknown: EraKnowledge = { kind: 'unknown' };

/** The remembered era of a server. */
export function knownEra(key: string | undefined): EraKnowledge {
  return remembered.get(key as string) ?? unknown;
}

export function rememberEra(key: string | undefined, era: EraKnowledge): void {
  if (key !== undefined) remembered.set(key, era);
}
