/**
 * The lock of a host's servers: what each server and each of its tools was when a person allowed it.
 * It holds digests, and no text of a server but names.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { redactText } from '../../../diagnostics/src/redaction.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { printableName } from '../../../../src/protocol/printable.ts';
import type { ServerEntry } from '../connection/options.ts';
import { configInvalid } from './config-problem.ts';

/** What is locked of a tool, beside its name. */
const parts = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

/** The sha256 digests of a tool's parts, as hex; it lacks the parts that are not here. */
export type LockedTool = { readonly [part in (typeof parts)[number]]?: string };

/** A server as it was allowed. */
export interface LockedServer {
  /** The program, if the server is launched. */
  readonly command?: string;
  /** Without secrets that are known by their form. */
  readonly args?: readonly string[];
  /** Without user, password, query and fragment: they may be secret. */
  readonly url?: string;
  /** How it called itself. */
  readonly name: string;
  /** Its own version, as it said. */
  readonly version: string;
  /** By their names. */
  readonly tools: { readonly [name: string]: LockedTool };
}

/** The content of `mcp-lock.json`: servers by their names in the host's file. */
export interface ServersLock {
  /** The version of the format. */
  readonly lockVersion: 1;
  /** By their names in the file of the host. */
  readonly servers: { readonly [name: string]: LockedServer };
}

/** How a tool, or a server as a whole, is not what the lock says. */
export interface LockDifference {
  readonly kind: 'changed' | 'renamed' | 'new' | 'gone';
  /** Undefined: the server. */
  readonly tool?: string;
  /** What has changed; of a renamed tool, the name in the lock. */
  readonly what: readonly string[];
}

const maxBytes = 16 * 1024 ** 2;

/** The sha256 of a value's JSON, as hex. The order of members does not count. */
export function jsonDigest(value: unknown): string {
  const sorted = JSON.stringify(value, (_key, each: unknown) =>
    isJsonObject(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
  return createHash('sha256').update(sorted).digest('hex');
}

/** A list is asked for often, and its items stay the same objects until it changes. */
const digested = new WeakMap<JsonObject, LockedTool>();

function lockedTool(tool: JsonObject): LockedTool {
  const known = digested.get(tool);
  if (known) return known;
  const present = parts.filter((part) => tool[part] !== undefined);
  const made = Object.fromEntries(present.map((part) => [part, jsonDigest(tool[part])]));
  digested.set(tool, made);
  return made;
}

/** Which server an entry names, without secrets. */
export function lockedEntry(entry: ServerEntry): Pick<LockedServer, 'command' | 'args' | 'url'> {
  if ('transport' in entry) return {};
  if ('command' in entry) {
    return { command: entry.command, args: (entry.args ?? []).map((arg) => redactText(arg)) };
  }
  const { origin, pathname } = new URL(entry.url);
  return { url: `${origin}${pathname}` };
}

/** A server as it is now. */
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

/** The member of a table that a stranger's text names. */
export const lockedIn = <T>(table: { readonly [name: string]: T }, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/** Which of these members are not the same in two objects. */
const unlike = (names: readonly string[], one: object, other: object): readonly string[] =>
  names.filter(
    (name) =>
      JSON.stringify((one as JsonObject)[name]) !== JSON.stringify((other as JsonObject)[name]),
  );

/** What is started or reached in place of the server that was allowed; empty if it is the same. */
export const entryChanges = (
  locked: LockedServer,
  entry: Pick<LockedServer, 'command' | 'args' | 'url'>,
): readonly string[] => unlike(['command', 'args', 'url'], locked, entry);

/**
 * How tools differ from those that were allowed. A tool whose name is used twice has changed if one
 * of the two has.
 *
 * @param isWhole whether these are all tools of the server: only then is one gone or renamed
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

/** How a server differs from what was allowed, itself first. */
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

/** In words, such as `changed (description)`. */
export function textOfDifference({ kind, what }: LockDifference): string {
  const names = what.map((each) => printableName(each)).join(', ');
  if (kind === 'renamed') return `renamed from ${names}`;
  return what.length > 0 ? `${kind} (${names})` : kind;
}

/**
 * Reads a lock file.
 *
 * @returns undefined if there is no such file
 * @throws {RuntimeError} CONFIG_INVALID: it cannot be read, or has another form
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
    throw invalid('it is no lock of servers: write one with mcp-actors bridge lock');
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

/** Writes a lock file: a reader sees the old one or the new one, and never a part. */
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
