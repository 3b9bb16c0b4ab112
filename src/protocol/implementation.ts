/** The identity of a client or a server. */
import { isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';

/** Name and version of a client or server: `clientInfo` or `serverInfo`. */
export interface Implementation {
  /** Machine-readable name. */
  readonly name: string;
  /** Version of the software, as opposed to the protocol. */
  readonly version: string;
  /** Name for people. Omitted before 2025-06-18. */
  readonly title?: string;
  /** Images. Omitted before 2025-11-25. */
  readonly icons?: readonly object[];
  /** URL of a page about the software. */
  readonly websiteUrl?: string;
}

/** A server's self-description in the result of `initialize`. */
export interface ServerDescription {
  readonly serverInfo: Implementation;
  readonly capabilities: JsonObject;
  readonly instructions?: string;
  /** Further members of the `initialize` result, including `_meta`. */
  readonly others?: JsonObject | undefined;
  /** True to send the capabilities unchanged to clients of every revision. */
  readonly isVerbatim?: true;
}

/** Identity of a client that omits `clientInfo`, as allowed in the modern era. */
export const anonymous: Implementation & JsonObject = Object.freeze({
  name: 'anonymous',
  version: 'unknown',
});

/** An invalid member of an identity: its path, expected and actual value. */
export interface ImplementationFault {
  /** Path such as `.name`; empty for the identity itself. */
  readonly path: string;
  readonly wanted: string;
  readonly got: unknown;
}

/** Validates an identity. Returns the problem, or undefined if valid. */
export function validateImplementation(info: unknown): ImplementationFault | undefined {
  if (!isJsonObject(info)) return { path: '', wanted: 'an object', got: info };
  const { name, version } = info;
  if (typeof name !== 'string') return { path: '.name', wanted: 'a string', got: name };
  if (typeof version !== 'string') return { path: '.version', wanted: 'a string', got: version };
  return undefined;
}

/** Picks the members of an identity to keep with the session. Icons are for hosts to show. */
export function keptImplementation(info: Implementation & JsonObject): Implementation & JsonObject {
  const { name, version } = info;
  const texts = ['title', 'description', 'websiteUrl'].filter(
    (key) => typeof info[key] === 'string',
  );
  return { name, version, ...Object.fromEntries(texts.map((key) => [key, info[key]])) };
}

/** Maximum length of a kept name or version, which appear in messages and dumps, UTF-16 units. */
const maxNameLength = 256;

/** Truncates the name and version of an identity. */
export function withShortNames(info: Implementation & JsonObject): Implementation & JsonObject {
  const { name, version } = info;
  return { ...info, name: cut(name), version: cut(version) };
}

function cut(name: string): string {
  return name.length > maxNameLength ? `${name.slice(0, maxNameLength)}…` : name;
}

/** Status of one of the servers behind a bridge. */
export interface ServerState {
  /** Name in the configuration. */
  readonly name: string;
  /** State, such as `ready`. */
  readonly state: string;
  /** Start of the state, ISO 8601. Absent if the state comes from the configuration. */
  readonly since?: string;
  /** Reason why the server is or was last unavailable. Contains no secrets. */
  readonly why?: string;
}
