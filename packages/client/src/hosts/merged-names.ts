/**
 * Names of many servers' tools in one list.
 *
 * A name is stable across restarts and independent of other tools, so that conversations stay
 * correct and prompt caches valid.
 */
import { createHash } from 'node:crypto';

/** Tool names accepted by model APIs. */
const taken = /^[A-Za-z0-9_-]{1,64}$/;
const longest = 64;
const separator = '__';
const digits = 8;

/** A tool and its server. */
export interface OwnedTool {
  readonly server: string;
  /** Name of the tool at the server. */
  readonly tool: string;
}

/**
 * Merged name of a tool: `server__tool`, if model APIs accept it and the server's part is
 * unambiguous. Otherwise its allowed characters, with a digest of both names.
 *
 * @param round number of earlier attempts, if another tool already has the name
 */
export function mergedName({ server, tool }: OwnedTool, round = 0): string {
  const plain = `${server}${separator}${tool}`;
  const isClear = !server.includes(separator) && !server.endsWith('_');
  if (round === 0 && isClear && taken.test(plain)) return plain;
  const digest = createHash('sha256')
    .update(JSON.stringify(round === 0 ? [server, tool] : [server, tool, round]))
    .digest('hex')
    .slice(0, digits);
  return `${readable(plain)}_${digest}`;
}

/** Readable part of a name, before its digest. */
const readable = (plain: string): string =>
  plain.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, longest - digits - 1);

/** True if a tool of this server could have this merged name. */
export function mayBeNamed(server: string, name: string): boolean {
  if (splitName(name)?.server === server) return true;
  return mayHaveDigest(name) && name.startsWith(readable(`${server}${separator}`));
}

/** True if a name appears to end in a digest: its server part may then belong to another server. */
export function mayHaveDigest(name: string): boolean {
  return new RegExp(`_[0-9a-f]{${digits}}$`).test(name);
}

/** Splits a name without a digest into server and tool; undefined for other forms. */
export function splitName(name: string): OwnedTool | undefined {
  const at = name.indexOf(separator);
  if (at < 1 || at + separator.length >= name.length) return undefined;
  return { server: name.slice(0, at), tool: name.slice(at + separator.length) };
}

/** Merges all tools by name, sorted and without duplicates. */
export function mergeTools<T extends OwnedTool>(tools: Iterable<T>): ReadonlyMap<string, T> {
  const named = new Map<string, T>();
  // Plain names first, so that a server cannot take another server's name with one that looks
  // digested.
  const order = [...tools].sort(
    (a, b) => rank(a) - rank(b) || compare(a.server, b.server) || compare(a.tool, b.tool),
  );
  for (const each of order) {
    let round = 0;
    let name = mergedName(each);
    for (let at = named.get(name); at !== undefined; at = named.get(name)) {
      if (at.server === each.server && at.tool === each.tool) break;
      name = mergedName(each, ++round);
    }
    if (!named.has(name)) named.set(name, each);
  }
  return new Map([...named].sort(([a], [b]) => compare(a, b)));
}

const rank = (tool: OwnedTool): number =>
  mergedName(tool) === `${tool.server}${separator}${tool.tool}` ? 0 : 1;

/** Compares code units: the same in every locale. */
const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
