/**
 * The roots of a play's client: their names, and the folders, which exist because a server may
 * look.
 */
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A root's name is this and a number. */
export const rootName = 'check-root-';

/** How many numbers there are; later lists of roots begin again. */
export const rootFolders = 16;

/** Names the root and the text of an answer that comes after the server cancelled its request. */
export const lateMark = 'check-late-answer';

export interface RootsFolder {
  /** The URI of the folder that holds them, without a slash at the end. */
  readonly uri: string;
  remove(): Promise<void>;
}

/** Makes a folder for each root, in a temporary one. */
export async function makeRootsFolder(): Promise<RootsFolder> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'mcp-actors-check-'));
  const numbered = Array.from({ length: rootFolders }, (_, number) => `${rootName}${number}`);
  await Promise.all([...numbered, lateMark].map((name) => mkdir(join(folder, name))));
  return {
    uri: pathToFileURL(folder).href,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
