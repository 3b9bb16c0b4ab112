/** The packages of this repository. */

/** The members of a `package.json` that a release reads or writes. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly description: string;
  readonly keywords?: readonly string[];
  readonly homepage?: string;
  readonly bugs?: { readonly url: string };
  readonly license: string;
  readonly author?: string;
  readonly repository?: {
    readonly type: string;
    readonly url: string;
    readonly directory?: string;
  };
  readonly mcpName?: string;
  readonly engines: { readonly node: string };
  readonly dependencies?: Versions;
  readonly devDependencies?: Versions;
  readonly peerDependencies?: Versions;
}

export interface Versions {
  readonly [name: string]: string;
}

/** The folder of the package whose command is the server that registries list. */
export const serverFolder = 'packages/cli';

/** The folders of the packages that are published, in the order in which they are: what another one needs comes first. */
export const publishedFolders = [
  '.',
  'packages/inspector',
  'packages/openapi',
  serverFolder,
] as const;

/** The packages that the library is built from. Their versions follow the library's. */
const libraryFolders = [
  'packages/schema',
  'packages/diagnostics',
  'packages/processes',
  'packages/roots',
  'packages/tasks',
  'packages/opentelemetry',
  'packages/http',
  'packages/nodes',
  'packages/client',
  'packages/bridge',
  'packages/skills',
  'packages/recording',
  'packages/testing',
  'packages/serve',
] as const;

/** The folders of all packages. */
export const packageFolders = [
  ...publishedFolders,
  ...libraryFolders,
  'packages/checker',
  'packages/workspace-server',
] as const;

export const manifestIn = (folder: string): string =>
  folder === '.' ? 'package.json' : `${folder}/package.json`;

/** The name without its owner: of the server, its image and its bundle. */
export const shortName = 'mcp-actors';
