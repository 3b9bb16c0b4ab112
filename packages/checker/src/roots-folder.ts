/** Roots of a play's client. The folders exist, because a server may check. */
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Prefix of root names, followed by a number. */
export const rootName = 'check-root-';

/** Number of distinct roots; further changes reuse them in order. */
export const rootFolders = 16;

/** Marks the root and text of an answer sent after the server's cancellation. */
export const lateMark = 'check-late-answer';

export interface RootsFolder {
  /** URI of the parent folder, without a trailing slash. */
  readonly uri: string;
  remove(): Promise<void>;
}

/** Creates a folder per root inside a temporary folder. */
export async function makeRootsFolder(): Promise<RootsFolder> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'mcp-actors-check-'));
  const numbered = Array.from({ length: rootFolders }, (_, number) => `${rootName}${number}`);
  await Promise.all([...numbered, lateMark].map((name) => mkdir(join(folder, name))));
  return {
    uri: pathToFileURL(folder).href,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
