/** `mcp-actors/roots`: the client's roots as directories, and paths that stay inside of them. */
export { rootsResolver } from '../workspace/roots/resolve-roots.ts';
export type { ResolveRootsOptions } from '../workspace/roots/resolve-roots.ts';
export type { DirectoryCheckOptions, DirectoryProbe } from '../workspace/roots/directory-check.ts';
export type { PathStyle } from '../workspace/roots/file-uri.ts';
export { rootsBoundary } from './roots-boundary.ts';
export type { PrimaryRoot, RootsBoundaryOptions } from './roots-boundary.ts';
export { resolveInside } from '../workspace/roots/boundary.ts';
export type { Boundary, InsidePath } from '../workspace/roots/boundary.ts';
export type { RootDirectory } from '../workspace/roots/root-directory.ts';
export { openInside } from '../workspace/roots/open-inside.ts';
export type { InsideFile, OpenOptions } from '../workspace/roots/open-inside.ts';
export type { OpenFile } from '../workspace/disk/disk.ts';
export { readInside } from './read-inside.ts';
export type { ReadInsideOptions } from './read-inside.ts';
