/**
 * Request envelope of the modern era: each request names its sender and its revision.
 *
 * @see MCP 2026-07-28, basic, "General fields", "_meta"
 */
import type { Era } from './connection-context.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject, OutboundFrame } from '../../../../src/protocol/frames.ts';
import type { Implementation } from '../../../../src/protocol/implementation.ts';
import type { LogLevel } from '../../../../src/protocol/log-levels.ts';
import { MetaKey, replaceMeta } from '../../../../src/protocol/meta.ts';

/** Self-description of the host. */
export interface HostDescription {
  readonly info: Implementation;
  /** Revision requested in `initialize`; undefined for the latest. */
  readonly revision?: string | undefined;
  /** Capabilities in each era. */
  readonly capabilities: (era: Era) => JsonObject;
}

/** Members of the envelope, for `params._meta`. */
export function envelopeOf(
  { info, capabilities }: HostDescription,
  revision: string,
  logLevel?: LogLevel,
): JsonObject {
  return {
    ...(logLevel === undefined ? {} : { [MetaKey.logLevel]: logLevel }),
    [MetaKey.protocolVersion]: revision,
    [MetaKey.clientInfo]: info,
    [MetaKey.clientCapabilities]: capabilities('modern'),
  };
}

/** Envelopes of one host. The same object is reused until the revision or the log level changes. */
export class Envelopes {
  readonly #host: HostDescription;
  #last: { readonly revision: string; readonly logLevel: LogLevel | undefined } | undefined;
  #members: JsonObject = {};

  constructor(host: HostDescription) {
    this.#host = host;
  }

  of(revision: string, logLevel: LogLevel | undefined): JsonObject {
    const last = this.#last;
    if (last?.revision !== revision || last.logLevel !== logLevel) {
      this.#last = { revision, logLevel };
      this.#members = envelopeOf(this.#host, revision, logLevel);
    }
    return this.#members;
  }
}

/** Adds the envelope to a request without one. */
export function withEnvelope(frame: OutboundFrame, envelope: JsonObject): OutboundFrame {
  if (!('method' in frame) || !('id' in frame)) return frame;
  const { id, method } = frame;
  const params = (frame.params ?? {}) as JsonObject;
  // The request's own members win: another log level, fewer capabilities.
  const { _meta: own } = params;
  const meta = isJsonObject(own) ? { ...envelope, ...own } : envelope;
  return { jsonrpc: '2.0', id, method, params: replaceMeta(params, meta) };
}
