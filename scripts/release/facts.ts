/** What a release says of itself. It stands in the manifests of the packages; every other file that says it is made of them. */
import { addressOf, addressOfManifest } from './address.ts';
import type { Address } from './address.ts';
import type { Edits } from './edits.ts';
import { manifestIn, serverFolder } from './packages.ts';
import type { Manifest } from './packages.ts';

/** What people see instead of a package's name. */
export const title = 'mcp-actors workspace';

/** Who LICENSE names. */
const everybody = 'mcp-actors contributors';

export interface Facts {
  readonly version: string;
  /** Of the command. */
  readonly packageName: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly license: string;
  readonly author: string;
  readonly node: string;
  /** Undefined as long as the repository has no public address. */
  readonly address: Address | undefined;
}

export function factsOf(edits: Edits): Facts {
  const { version, author = everybody, repository } = edits.readJson<Manifest>('package.json');
  const server = edits.readJson<Manifest>(manifestIn(serverFolder));
  return {
    version,
    packageName: server.name,
    description: server.description,
    keywords: server.keywords ?? [],
    license: server.license,
    author,
    node: server.engines.node,
    address: repository === undefined ? undefined : addressOf(addressOfManifest(repository.url)),
  };
}
