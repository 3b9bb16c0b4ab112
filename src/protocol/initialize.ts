/**
 * The handshake's data: reading the client's `initialize`, composing the reply.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Initialization"
 */
import { describe, isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';
import { negotiateRevision } from './revisions/registry.ts';
import type { Revision } from './revisions/revision.ts';

/** `clientInfo` and `serverInfo`. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly icons?: readonly object[];
  readonly websiteUrl?: string;
}

/** What the server says of itself in the reply. */
export interface ServerDescription {
  readonly serverInfo: Implementation;
  readonly capabilities: JsonObject;
  readonly instructions?: string;
}

/** What a session knows of its client once it is negotiated. Set once. */
export interface ClientDescription {
  readonly revision: Revision;
  /** The version that the client asked for; it differs from `revision.version` where we do not speak it. */
  readonly requestedVersion: string;
  readonly info: Implementation & JsonObject;
  readonly capabilities: JsonObject;
  /** The params as they came, as text: a repeated initialize is the same one only if this is equal. */
  readonly fingerprint: string;
}

export type InitializeReading =
  | { readonly ok: true; readonly client: ClientDescription }
  | { readonly ok: false; readonly fault: string };

/** Reads `initialize` params; the fault names the path of what is wrong. */
export function readInitialize(params: JsonObject | undefined): InitializeReading {
  if (params === undefined) return fault('params', 'an object', params);
  const { protocolVersion, capabilities, clientInfo } = params;
  if (typeof protocolVersion !== 'string') {
    return fault('params.protocolVersion', 'a string', protocolVersion);
  }
  if (!isJsonObject(capabilities)) return fault('params.capabilities', 'an object', capabilities);
  if (!isJsonObject(clientInfo)) return fault('params.clientInfo', 'an object', clientInfo);
  const { name, version } = clientInfo;
  if (typeof name !== 'string') return fault('params.clientInfo.name', 'a string', name);
  if (typeof version !== 'string') return fault('params.clientInfo.version', 'a string', version);
  return {
    ok: true,
    client: {
      revision: negotiateRevision(protocolVersion),
      requestedVersion: protocolVersion,
      info: { ...clientInfo, name, version },
      capabilities,
      fingerprint: JSON.stringify(params),
    },
  };
}

function fault(path: string, wanted: string, got: unknown): InitializeReading {
  return { ok: false, fault: `${path} must be ${wanted}, this is ${describe(got)}` };
}

/** The result of `initialize`. */
export function initializeResult(server: ServerDescription, client: ClientDescription): JsonObject {
  const { serverInfo, capabilities, instructions } = server;
  const { title, icons, websiteUrl, ...info } = serverInfo;
  const { structuredOutput, icons: hasIcons } = client.revision;
  return {
    protocolVersion: client.revision.version,
    capabilities: knownCapabilities(capabilities, client.revision),
    serverInfo: {
      ...info,
      ...(title !== undefined && structuredOutput ? { title } : {}),
      ...(icons && hasIcons ? { icons } : {}),
      ...(websiteUrl !== undefined && hasIcons ? { websiteUrl } : {}),
    },
    ...(instructions === undefined ? {} : { instructions }),
  };
}

/** What a revision does not know is not declared to its clients. */
function knownCapabilities(capabilities: JsonObject, revision: Revision): JsonObject {
  const { completions, tasks, ...known } = capabilities;
  return {
    ...known,
    ...(completions !== undefined && revision.completions ? { completions } : {}),
    ...(tasks !== undefined && revision.tasks ? { tasks } : {}),
  };
}

/**
 * True where a repeated `initialize` is the very same one: its params are equal to the letter.
 * (A client whose request was slow may send it again; anything else is a fault of the client's.)
 */
export function isSameInitialize(
  params: JsonObject | undefined,
  client: ClientDescription | undefined,
): boolean {
  return client !== undefined && JSON.stringify(params) === client.fingerprint;
}
