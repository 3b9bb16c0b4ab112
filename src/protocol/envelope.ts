/**
 * Reads request envelopes: the description of the client in `params._meta` of each modern request.
 * Hand-written, because every request passes through.
 *
 * @see MCP 2026-07-28, basic, "General fields", "_meta"
 */
import { inspectValue, isJsonObject } from './classify.ts';
import type { StatelessDialect } from './dialects/dialect.ts';
import { statelessDialect, statelessVersions } from './dialects/registry.ts';
import { ErrorCode } from './errors.ts';
import type { JsonObject, WireError } from './frames.ts';
import { anonymous, validateImplementation } from './implementation.ts';
import type { Implementation } from './implementation.ts';
import { lengthOfClient, maxClientLength } from './initialize.ts';
import type { PeerDescription } from './initialize.ts';
import { logLevelOf, logLevels } from './log-levels.ts';
import type { LogLevel } from './log-levels.ts';
import { MetaKey } from './meta.ts';

/** A request's description of its client. Valid for this request only. */
export interface Envelope {
  readonly peer: PeerDescription & { readonly dialect: StatelessDialect };
  /** Minimum severity of log messages for this request. */
  readonly logLevel: LogLevel | 'none';
}

export type EnvelopeReading =
  | ({ readonly ok: true } & Envelope)
  | { readonly ok: false; readonly error: WireError };

/** True if a request carries an envelope or a part of one. */
export function isEnveloped(params: JsonObject | undefined): boolean {
  const meta = params?.['_meta'];
  return (
    isJsonObject(meta) &&
    (meta[MetaKey.protocolVersion] !== undefined || meta[MetaKey.clientCapabilities] !== undefined)
  );
}

/**
 * Reads a request's envelope. The error is -32022 for an unsupported version, otherwise -32602
 * naming the key.
 *
 * @param size length of the request, if known: the envelope of a short request is not measured
 */
export function readEnvelope(params: JsonObject | undefined, size = Infinity): EnvelopeReading {
  const given = params?.['_meta'];
  const meta = isJsonObject(given) ? given : {};
  const version = meta[MetaKey.protocolVersion];
  const capabilities = meta[MetaKey.clientCapabilities];
  if (version === undefined || capabilities === undefined) return missing(given, meta);
  if (typeof version !== 'string')
    return invalidMember(MetaKey.protocolVersion, 'a string', version);
  const dialect = statelessDialect(version);
  if (!dialect) return { ok: false, error: unsupportedVersion(version) };
  if (!isJsonObject(capabilities)) {
    return invalidMember(MetaKey.clientCapabilities, 'an object', capabilities);
  }
  const info = meta[MetaKey.clientInfo];
  const infoFault = info === undefined ? undefined : validateImplementation(info);
  if (infoFault)
    return invalidMember(MetaKey.clientInfo + infoFault.path, infoFault.wanted, infoFault.got);
  if (size > maxClientLength) {
    const length = lengthOfClient(info, capabilities);
    if (length > maxClientLength) return tooLong(length);
  }
  const level = meta[MetaKey.logLevel];
  const logLevel = level === undefined ? 'none' : logLevelOf(level);
  if (logLevel === undefined) {
    return invalidMember(MetaKey.logLevel, `one of ${logLevels.join(', ')}`, level);
  }
  return {
    ok: true,
    peer: {
      dialect,
      requestedVersion: version,
      info: (info as (Implementation & JsonObject) | undefined) ?? anonymous,
      capabilities,
    },
    logLevel,
  };
}

/** Limit for echoed versions, which clients may make arbitrarily long; dates have 10 characters. */
const maxRequestedLength = 100;

/** The error for an unsupported version. */
export function unsupportedVersion(requested: string): WireError {
  const message = `Unsupported protocol version ${inspectValue(requested)}: a request must name one of ${statelessVersions.join(', ')}`;
  const echoed = requested.slice(0, maxRequestedLength);
  const data = { supported: statelessVersions, requested: echoed };
  return { code: ErrorCode.unsupportedProtocolVersion, message, data };
}

const required = [MetaKey.protocolVersion, MetaKey.clientCapabilities] as const;

function missing(given: unknown, meta: JsonObject): EnvelopeReading {
  if (given !== undefined && given !== meta) {
    return invalid(`"_meta" must be an object, got ${inspectValue(given)}`);
  }
  const keys = required.filter((key) => meta[key] === undefined);
  return invalid(`"_meta" of a request must have ${keys.map((key) => `"${key}"`).join(' and ')}`);
}

function tooLong(length: number): EnvelopeReading {
  return invalid(
    `"${MetaKey.clientInfo}" and "${MetaKey.clientCapabilities}" in "_meta" must have at most ${maxClientLength} characters of JSON, got ${length}`,
  );
}

function invalidMember(key: string, wanted: string, got: unknown): EnvelopeReading {
  return invalid(`"${key}" in "_meta" must be ${wanted}, got ${inspectValue(got)}`);
}

function invalid(reason: string): EnvelopeReading {
  return {
    ok: false,
    error: { code: ErrorCode.invalidParams, message: `Invalid params: ${reason}` },
  };
}
