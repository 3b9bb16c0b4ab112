/**
 * Lock file of a host's servers: records each server and its tools as approved by a person.
 * Contains digests, and no server text except names.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { redactText } from '../../../diagnostics/src/redaction.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { printableName } from '../../../../src/protocol/printable.ts';
import type { ServerEntry } from '../connection/options.ts';
import { configInvalid } from './config-problem.ts';

/** Locked parts of a tool, besides its name. */
const parts = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** SHA-256 digests of a tool's parts, in hex. Absent parts are omitted. */
export type LockedTool = { readonly [part in (typeof parts)[number]]?: string };

/** A server as approved. */
export interface LockedServer {
  /** Program of a launched server. */
  readonly command?: string;
  /** Arguments, with recognizable secrets redacted. */
  readonly args?: readonly string[];
  /** URL without user, password, query and fragment, which may be secret. */
  readonly url?: string;
  /** Name reported by the server. */
  readonly name: string;
  /** Version reported by the server. */
  readonly version: string;
  /** Tools by name. */
  readonly tools: { readonly [name: string]: LockedTool };
}

/** Content of `mcp-lock.json`. */
export interface ServersLock {
  /** Version of the format. */
  readonly lockVersion: 1;
  /** Servers by their names in the host's file. */
  readonly servers: { readonly [name: string]: LockedServer };
}

/** A difference between a server or tool and its lock. */
export interface LockDifference {
  readonly kind: 'changed' | 'renamed' | 'new' | 'gone';
  /** Undefined for the server itself. */
  readonly tool?: string;
  /** Changed parts; for a renamed tool, its name in the lock. */
  readonly what: readonly string[];
}

const maxBytes = 16 * 1024 ** 2;

/** SHA-256 of a value's JSON, in hex, independent of the order of members. */
export function jsonDigest(value: unknown): string {
  const sorted = JSON.stringify(value, (_key, each: unknown) =>
    isJsonObject(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
  return createHash('sha256').update(sorted).digest('hex');
}

/** Lists are requested often, and their items stay the same objects until they change. */
const digested = new WeakMap<JsonObject, LockedTool>();

function lockedTool(tool: JsonObject): LockedTool {
  const known = digested.get(tool);
  if (known) return known;
  const present = parts.filter((part) => tool[part] !== undefined);
  const made = Object.fromEntries(present.map((part) => [part, jsonDigest(tool[part])]));
  digested.set(tool, made);
  return made;
}

/** Identity of a server entry, without secrets. */
export function lockedEntry(entry: ServerEntry): Pick<LockedServer, 'command' | 'args' | 'url'> {
  if ('transport' in entry) return {};
  if ('command' in entry) {
    return { command: entry.command, args: (entry.args ?? []).map((arg) => redactText(arg)) };
  }
  const { origin, pathname } = new URL(entry.url);
  return { url: `${origin}${pathname}` };
}

/** Locks a server in its current state. */
export function lockServer(
  entry: ServerEntry,
  { name, version }: { readonly name: string; readonly version: string },
  tools: readonly JsonObject[],
): LockedServer {
  const locked = tools
    .map((tool): [string, LockedTool] => [String(tool['name']), lockedTool(tool)])
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return { ...lockedEntry(entry), name, version, tools: Object.fromEntries(locked) };
}

/** Looks up an untrusted name in a table, ignoring inherited members. */
export const lockedIn = <T>(table: { readonly [name: string]: T }, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/** Members that differ between two objects. */
const unlike = (names: readonly string[], one: object, other: object): readonly string[] =>
  names.filter(
    (name) =>
      JSON.stringify((one as JsonObject)[name]) !== JSON.stringify((other as JsonObject)[name]),
  );

/** Changed parts of a server entry; empty if unchanged. */
export const entryChanges = (
  locked: LockedServer,
  entry: Pick<LockedServer, 'command' | 'args' | 'url'>,
): readonly string[] => unlike(['command', 'args', 'url'], locked, entry);

/**
 * Differences between the tools and the lock. A tool whose name is used twice counts as changed if
 * either differs.
 *
 * @param isWhole true if these are all tools of the server: only then can one be gone or renamed
 */
export function toolDifferences(
  locked: LockedServer['tools'],
  tools: readonly JsonObject[],
  isWhole: boolean,
): readonly LockDifference[] {
  const names = new Set(tools.map((tool) => String(tool['name'])));
  const missing = new Map(
    Object.entries(isWhole ? locked : {}).filter(([name]) => !names.has(name)),
  );
  const found = tools.flatMap((item): LockDifference[] => {
    const tool = String(item['name']);
    const now = lockedTool(item);
    const before = lockedIn(locked, tool);
    if (before) {
      const what = unlike(parts, before, now);
      return what.length > 0 ? [{ kind: 'changed', tool, what }] : [];
    }
    const [same] = [...missing].find(([, each]) => unlike(parts, each, now).length === 0) ?? [];
    if (same === undefined) return [{ kind: 'new', tool, what: [] }];
    missing.delete(same);
    return [{ kind: 'renamed', tool, what: [same] }];
  });
  const gone = [...missing.keys()].map((tool): LockDifference => ({
    kind: 'gone',
    tool,
    what: [],
  }));
  return [...found, ...gone];
}

/** Differences between a server and the lock, the server itself first. */
export function serverDifferences(
  locked: LockedServer | undefined,
  now: LockedServer | undefined,
  tools: readonly JsonObject[],
): readonly LockDifference[] {
  if (!now) return [{ kind: 'gone', what: [] }];
  const list = toolDifferences(locked?.tools ?? {}, tools, true);
  if (!locked) return [{ kind: 'new', what: [] }, ...list];
  const what = unlike(['command', 'args', 'url', 'name', 'version'], locked, now);
  return what.length > 0 ? [{ kind: 'changed', what }, ...list] : list;
}

/** Formats a difference, such as `changed (description)`. */
export function textOfDifference({ kind, what }: LockDifference): string {
  const names = what.map((each) => printableName(each)).join(', ');
  if (kind === 'renamed') return `renamed from ${names}`;
  return what.length > 0 ? `${kind} (${names})` : kind;
}

/**
 * Reads a lock file.
 *
 * @returns undefined if the file does not exist
 * @throws {RuntimeError} CONFIG_INVALID: the file cannot be read, or is not a lock file
 */
export async function readLockFile(file: string): Promise<ServersLock | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw configInvalid([{ file, message: `it cannot be read: ${message}` }], error);
  }
  const invalid = (message: string) => configInvalid([{ file, message }]);
  if (text.length > maxBytes) throw invalid(`it is longer than ${maxBytes} characters`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw configInvalid([{ file, message: 'it is not JSON' }], error);
  }
  if (!isLock(value)) {
    throw invalid('it is not a lock file: create one with mcp-actors bridge lock');
  }
  return value;
}

const isTable = (value: unknown, takes: (each: unknown) => boolean): boolean =>
  isJsonObject(value) && Object.values(value).every(takes);

const isLock = (value: unknown): value is ServersLock =>
  isJsonObject(value) &&
  value['lockVersion'] === 1 &&
  isTable(
    value['servers'],
    (server) =>
      isJsonObject(server) &&
      isTable(server['tools'], (tool) => isTable(tool, (digest) => typeof digest === 'string')),
  );

/** Writes a lock file atomically. */
export async function writeLockFile(file: string, lock: ServersLock): Promise<void> {
  const draft = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(draft, `${JSON.stringify(lock, undefined, 2)}\n`, { flush: true });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
