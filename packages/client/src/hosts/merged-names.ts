/**
 * The names of many servers' tools in one list.
 *
 * A name survives a restart and does not depend on other tools, so that earlier parts of a
 * conversation stay correct and a prompt cache stays valid.
 */
import { createHash } from 'node:crypto';

/** The tool names that model APIs accept. */
const taken = /^[A-Za-z0-9_-]{1,64}$/;
const longest = 64;
const separator = '__';
const digits = 8;

/** A tool and its server. */
export interface OwnedTool {
  readonly server: string;
  /** Its name at the server. */
  readonly tool: string;
}

/**
 * The name of one tool: `server__tool`, if model APIs accept it and it is unambiguous where the
 * server's name ends. Otherwise its allowed characters, with a digest of both names.
 *
 * @param round the number of earlier attempts, if another tool already has the name
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

/** The readable part of a name, before its digest. */
const readable = (plain: string): string =>
  plain.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, longest - digits - 1);

/** Whether a tool of this server could have this name in the merged list. */
export function mayBeNamed(server: string, name: string): boolean {
  if (splitName(name)?.server === server) return true;
  return mayHaveDigest(name) && name.startsWith(readable(`${server}${separator}`));
}

/** Whether a name looks as if it has a digest: then it may spell out a server and yet be another tool's. */
export function mayHaveDigest(name: string): boolean {
  return new RegExp(`_[0-9a-f]{${digits}}$`).test(name);
}

/** The server and the tool in a name without a digest; undefined if it does not have this form. */
export function splitName(name: string): OwnedTool | undefined {
  const at = name.indexOf(separator);
  if (at < 1 || at + separator.length >= name.length) return undefined;
  return { server: name.slice(0, at), tool: name.slice(at + separator.length) };
}

/** All tools by their names in the merged list, sorted by name. Duplicates are merged. */
export function mergeTools<T extends OwnedTool>(tools: Iterable<T>): ReadonlyMap<string, T> {
  const named = new Map<string, T>();
  // Plain names come first, so that a server cannot take another server's name with one that looks
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

/** By code units: the same in every locale. */
const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
