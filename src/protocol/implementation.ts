/** The identity of a client or a server. */
import { isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';

/** `clientInfo` and `serverInfo`. */
export interface Implementation {
  /** For programs. */
  readonly name: string;
  /** Of the software, not of the protocol. */
  readonly version: string;
  /** For people. Revisions before 2025-06-18 do not know it. */
  readonly title?: string;
  /** Pictures of it. Revisions before 2025-11-25 do not know them. */
  readonly icons?: readonly object[];
  /** Where people read about it. */
  readonly websiteUrl?: string;
}

/** Everything that a server says about itself in the result of `initialize`. */
export interface ServerDescription {
  readonly serverInfo: Implementation;
  readonly capabilities: JsonObject;
  readonly instructions?: string;
  /** Further members of the `initialize` result, `_meta` among them. */
  readonly others?: JsonObject | undefined;
  /** True if clients get its capabilities as they are, whatever their revision knows. */
  readonly isVerbatim?: true;
}

/** The identity of a client that does not say who it is, as it may in the modern era. */
export const anonymous: Implementation & JsonObject = Object.freeze({
  name: 'anonymous',
  version: 'unknown',
});

/** The member of an identity that is wrong: its path, what it must be, what it is. */
export interface ImplementationFault {
  /** Empty for the identity itself, otherwise such as `.name`. */
  readonly path: string;
  readonly wanted: string;
  readonly got: unknown;
}

/** What is wrong with a client's identity; undefined if nothing is. */
export function validateImplementation(info: unknown): ImplementationFault | undefined {
  if (!isJsonObject(info)) return { path: '', wanted: 'an object', got: info };
  const { name, version } = info;
  if (typeof name !== 'string') return { path: '.name', wanted: 'a string', got: name };
  if (typeof version !== 'string') return { path: '.version', wanted: 'a string', got: version };
  return undefined;
}

/** The members of an identity that are kept for as long as a session. Icons are for hosts to show. */
export function keptImplementation(info: Implementation & JsonObject): Implementation & JsonObject {
  const { name, version } = info;
  const texts = ['title', 'description', 'websiteUrl'].filter(
    (key) => typeof info[key] === 'string',
  );
  return { name, version, ...Object.fromEntries(texts.map((key) => [key, info[key]])) };
}

/** The longest name and version that are kept, UTF-16 units: messages and dumps have them. */
const maxNameLength = 256;

/** An identity whose name and version are cut. */
export function withShortNames(info: Implementation & JsonObject): Implementation & JsonObject {
  const { name, version } = info;
  return { ...info, name: cut(name), version: cut(version) };
}

function cut(name: string): string {
  return name.length > maxNameLength ? `${name.slice(0, maxNameLength)}…` : name;
}

/** Where one of the servers behind another stands. */
export interface ServerState {
  /** As the configuration calls it. */
  readonly name: string;
  /** `ready` if it can be used. */
  readonly state: string;
  /** ISO 8601; absent if the configuration says it. */
  readonly since?: string;
  /** Why it cannot be used, or could not be last. Contains no secret. */
  readonly why?: string;
}
