/** The repository's public address, and what depends on it in a manifest. */
import type { Edits } from './edits.ts';
import { manifestIn, packageFolders, serverFolder, shortName } from './packages.ts';
import type { Manifest } from './packages.ts';

/**
 * An address on GitHub: npm's provenance and the registry's names are both proved by a token of GitHub's, and compare the
 * owner letter by letter with it.
 */
export interface Address {
  readonly owner: string;
  readonly name: string;
  readonly url: string;
}

/** @throws {TypeError} it is no address of a repository on GitHub */
export function addressOf(text: string): Address {
  const [, owner, name] =
    /^https:\/\/github\.com\/([A-Za-z\d](?:[A-Za-z\d-]*[A-Za-z\d])?)\/([\w.-]+?)(?:\.git)?\/?$/.exec(
      text,
    ) ?? [];
  if (owner === undefined || name === undefined) {
    throw new TypeError(
      `${JSON.stringify(text)} is no address of a repository: write https://github.com/OWNER/NAME, with the owner's letters as GitHub shows them`,
    );
  }
  return { owner, name, url: `https://github.com/${owner}/${name}` };
}

/** The address in `repository.url` of a manifest. */
export const addressOfManifest = (url: string): string => url.replace(/^git\+/, '');

/** The server's name in the registry, whose owner is spelled as GitHub spells it. */
export const registryName = ({ owner }: Address): string => `io.github.${owner}/${shortName}`;

/** A file of the repository. */
export const pageOf = ({ url }: Address, path: string): string => `${url}/blob/main/${path}`;

/** Writes into each manifest what depends on the address. */
export async function writeAddress(
  edits: Edits,
  address: Address,
  author: string | undefined,
): Promise<void> {
  for (const folder of packageFolders) {
    const path = manifestIn(folder);
    const isRoot = folder === '.';
    await edits.writeJson(path, {
      ...edits.readJson<Manifest>(path),
      homepage: `${address.url}${isRoot ? '' : `/tree/main/${folder}`}#readme`,
      bugs: { url: `${address.url}/issues` },
      ...(author === undefined ? {} : { author }),
      repository: {
        type: 'git',
        url: `git+${address.url}.git`,
        ...(isRoot ? {} : { directory: folder }),
      },
      ...(folder === serverFolder ? { mcpName: registryName(address) } : {}),
    } satisfies Manifest);
  }
}
