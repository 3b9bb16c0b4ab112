/** The folders that a play's client has as its roots. They exist, because a server may look. */
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { lateMark, rootFolders, rootName } from './outgoing.ts';

export interface RootsFolder {
  /** The URI of the folder that holds them, without a slash at the end. */
  readonly uri: string;
  remove(): Promise<void>;
}

export async function makeRootsFolder(): Promise<RootsFolder> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'mcp-actors-check-'));
  const numbered = Array.from({ length: rootFolders }, (_, number) => `${rootName}${number}`);
  await Promise.all([...numbered, lateMark].map((name) => mkdir(join(folder, name))));
  return {
    uri: pathToFileURL(folder).href,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
