/** Roots of directories that are there, as the workspace resolves them. */
import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { Root } from '../../../src/protocol/roots.ts';
import type { Boundary } from '../src/boundary.ts';
import { identityOf } from '../src/directory-check.ts';
import type { RootDirectory } from '../src/root-directory.ts';

/** The directory at a real path, as it is now; one that does not exist has an identity that none has. */
export function rootDirectory(path: string): RootDirectory {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return { path, identity: stats === undefined ? 'absent' : identityOf(stats) };
}

/** An entry of the client's list, resolved. */
export function rootAt(path: string, name?: string): Root & RootDirectory {
  const root = { uri: pathToFileURL(path).href, ...rootDirectory(path) };
  return name === undefined ? root : { ...root, name };
}

/** The boundary of one root. */
export function boundaryAt(path: string): Boundary {
  const base = rootDirectory(path);
  return { directories: [base], base };
}
