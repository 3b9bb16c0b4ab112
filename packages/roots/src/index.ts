/** `mcp-actors/roots`: resolves the client's roots to directories and keeps paths inside them. */
export { rootsResolver } from './resolve-roots.ts';
export type { ResolveRootsOptions } from './resolve-roots.ts';
export { rootsBoundary } from './roots-boundary.ts';
export type { PrimaryRoot, RootsBoundaryOptions } from './roots-boundary.ts';
export { resolveInside } from './boundary.ts';
export type { Boundary } from './boundary.ts';
export { assertRootAvailable, openRoot } from './root-directory.ts';
export type { RootDirectory } from './root-directory.ts';
export { openInside, fileOpener, readBytes } from './open-inside.ts';
export type { FileOpener, InsideFile } from './open-inside.ts';
export { readInside } from './open-inside.ts';
export type { ReadInsideOptions } from './open-inside.ts';
