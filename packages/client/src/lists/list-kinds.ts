/**
 * The four lists of a server: their methods, and the required members of their entries.
 *
 * @see MCP 2025-11-25, server/tools, server/prompts, server/resources
 */
import type { CatalogName } from './catalog.machine.ts';
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';

type MemberType = 'string' | 'object' | 'array';

/** A paged list. */
export interface PagedKind {
  /** Name of the list, and of the result member with the entries. */
  readonly name: string;
  readonly method: string;
  /** Member that identifies an entry; undefined if entries need not be unique. */
  readonly key?: string;
  /** Required members of an entry. */
  readonly required: { readonly [member: string]: MemberType };
  /** Optional members; one of the wrong type is dropped, and the entry stays. */
  readonly optional: { readonly [member: string]: MemberType };
  /** A further fault that makes an entry unusable. */
  readonly faultOf?: (entry: JsonObject) => string | undefined;
}

export interface ListKind extends PagedKind {
  readonly name: CatalogName;
  /** Capability declared by servers with such a list. */
  readonly feature: 'tools' | 'prompts' | 'resources';
  /** Notification of changes. */
  readonly changed: string;
}

const labels = { title: 'string', description: 'string' } as const;

export const listKinds: { readonly [name in CatalogName]: ListKind } = {
  tools: {
    name: 'tools',
    method: 'tools/list',
    feature: 'tools',
    changed: 'notifications/tools/list_changed',
    key: 'name',
    required: { name: 'string', inputSchema: 'object' },
    optional: { ...labels, outputSchema: 'object', annotations: 'object' },
  },
  prompts: {
    name: 'prompts',
    method: 'prompts/list',
    feature: 'prompts',
    changed: 'notifications/prompts/list_changed',
    key: 'name',
    required: { name: 'string' },
    optional: { ...labels, arguments: 'array' },
  },
  resources: {
    name: 'resources',
    method: 'resources/list',
    feature: 'resources',
    changed: 'notifications/resources/list_changed',
    key: 'uri',
    required: { name: 'string', uri: 'string' },
    optional: { ...labels, mimeType: 'string', annotations: 'object' },
  },
  resourceTemplates: {
    name: 'resourceTemplates',
    method: 'resources/templates/list',
    feature: 'resources',
    changed: 'notifications/resources/list_changed',
    required: { name: 'string', uriTemplate: 'string' },
    optional: { ...labels, mimeType: 'string', annotations: 'object' },
  },
};

/** A parsed entry and its faults. Without an item the entry is unusable. */
export interface EntryReading {
  readonly item?: JsonObject;
  readonly fault?: string;
}

/** Parses one entry of a list. An entry without faults is returned unchanged. */
export function readEntry(kind: PagedKind, entry: unknown): EntryReading {
  const { required, optional } = kind;
  if (!isJsonObject(entry)) return { fault: `must be an object, got ${inspectValue(entry)}` };
  for (const [member, type] of Object.entries(required)) {
    const fault = faultOf(entry, member, type);
    if (fault !== undefined) return { fault };
  }
  const unusable = kind.faultOf?.(entry);
  if (unusable !== undefined) return { fault: unusable };
  const wrong = Object.entries(optional)
    .map(([member, type]) => ({ member, fault: faultOf(entry, member, type) }))
    .filter(({ member, fault }) => fault !== undefined && entry[member] !== undefined);
  if (wrong.length === 0) return { item: entry };
  const without = new Set(wrong.map(({ member }) => member));
  const kept = Object.entries(entry).filter(([member]) => !without.has(member));
  // Many servers send null for absent members.
  const told = wrong.find(({ member }) => entry[member] !== null);
  const item = Object.fromEntries(kept);
  return told ? { item, fault: `${told.fault}: ignored` } : { item };
}

function faultOf(entry: JsonObject, member: string, type: MemberType): string | undefined {
  const value = entry[member];
  const isRight =
    type === 'object'
      ? isJsonObject(value)
      : type === 'array'
        ? Array.isArray(value)
        : typeof value === 'string';
  return isRight ? undefined : `"${member}" must be ${articled[type]}, got ${inspectValue(value)}`;
}

const articled = { string: 'a string', object: 'an object', array: 'an array' } as const;
