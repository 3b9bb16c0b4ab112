/** What is asked of a format in which hosts write their servers. */
import type { JsonObject } from 'mcp-actors';
import type { HostEntry } from '../host-configuration.ts';

/** Where an entry is in a file, from the outermost key to its name. */
export type EntryPath = readonly [key: string, name: string];

/** Reads and edits the text of a file. What it does not have to change stays as it is, comments included. */
export interface EntryFormat {
  /** The entry; undefined if there is none. @throws {FileFault} */
  read(text: string, path: EntryPath): unknown;
  /**
   * The text with this entry. In an entry that is there, only the keys that say how the server is
   * launched or reached are changed.
   *
   * @throws {FileFault}
   */
  write(text: string, path: EntryPath, entry: HostEntry): string;
  /** The text without the entry. @throws {FileFault} */
  remove(text: string, path: EntryPath): string;
}

/** Why a file's text cannot be read or edited, with the line if it is known. */
export class FileFault extends Error {
  override readonly name = 'FileFault';
}

/** Keys that say how a server is launched or reached, in any host. An entry has only its own. */
const ownKeys = ['type', 'command', 'args', 'url', 'httpUrl', 'serverUrl'];

/** The keys that another entry has left behind. */
export function staleKeys(present: JsonObject, entry: HostEntry): readonly string[] {
  return ownKeys.filter((key) => Object.hasOwn(present, key) && !Object.hasOwn(entry, key));
}

/** The end of lines that a text has. */
export const endOfLine = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');
