/** Interface to the file formats in which hosts store servers. */
import type { JsonObject } from 'mcp-actors';
import type { HostEntry } from '../host-configuration.ts';

/** Path of an entry in a file, from the outermost key to its name. */
export type EntryPath = readonly [key: string, name: string];

/** Reads and edits the text of a file. Preserves everything else, including comments. */
export interface EntryFormat {
  /**
   * Reads the entry; undefined if absent.
   *
   * @throws {FileFault}
   */
  read(text: string, path: EntryPath): unknown;
  /**
   * Returns the text with this entry. In an existing entry, changes only the keys that configure
   * how the server is launched or reached.
   *
   * @throws {FileFault}
   */
  write(text: string, path: EntryPath, entry: HostEntry): string;
  /**
   * Returns the text without the entry.
   *
   * @throws {FileFault}
   */
  remove(text: string, path: EntryPath): string;
}

/** Problem with reading or editing a file's text, with the line if known. */
export class FileFault extends Error {
  override readonly name = 'FileFault';
}

/** Keys that configure how a server is launched or reached, in any host. */
const ownKeys = ['type', 'command', 'args', 'url', 'httpUrl', 'serverUrl'];

/** Keys left over from a previous kind of entry. */
export function staleKeys(present: JsonObject, entry: HostEntry): readonly string[] {
  return ownKeys.filter((key) => Object.hasOwn(present, key) && !Object.hasOwn(entry, key));
}

/** Line ending of a text. */
export const endOfLine = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');
