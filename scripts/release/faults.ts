/** What keeps a release from being published, found before anything is. */
import { addressOf, addressOfManifest, writeAddress } from './address.ts';
import { notesOf, repeatedIn } from './changelog.ts';
import type { Edits } from './edits.ts';
import { factsOf } from './facts.ts';
import { manifestIn, packageFolders, publishedFolders, serverFolder } from './packages.ts';
import type { Manifest } from './packages.ts';
import { faultsOfEntry } from './registry-rules.ts';
import { bundleManifestFile, registryFile, writeShelf } from './shelf.ts';

export interface ReleaseOccasion {
  /** The tag that is released, as v1.2.3; undefined if none is pushed yet. */
  readonly tag?: string | undefined;
  /** `OWNER/NAME` of the repository whose workflow publishes, as its token spells it. */
  readonly workflowOf?: string | undefined;
}

/** The command that mends a fault. */
const run = (...args: readonly string[]): string =>
  `run \`${['npm run release -- write', ...args].join(' ')}\``;

/** Each in a sentence that says what to do. */
export async function faultsOfRelease(
  edits: Edits,
  occasion: ReleaseOccasion = {},
): Promise<readonly string[]> {
  return [
    ...faultsOfVersion(edits, occasion),
    ...(await faultsOfAddress(edits, occasion)),
    ...(await faultsOfShelf(edits)),
    ...faultsOfEntry(edits.readJson(registryFile)).map((fault) => `${registryFile}: ${fault}`),
  ];
}

function faultsOfVersion(edits: Edits, { tag }: ReleaseOccasion): readonly string[] {
  const { version } = factsOf(edits);
  const changelog = edits.read('CHANGELOG.md');
  const others = packageFolders
    .map((folder) => edits.readJson<Manifest>(manifestIn(folder)))
    .filter((manifest) => manifest.version !== version);
  return [
    ...others.map(
      ({ name, version: own }) =>
        `${name} has the version ${own}, and mcp-actors ${version}: ${run(`--version ${version}`)}`,
    ),
    ...(notesOf(changelog, version) === undefined
      ? [`CHANGELOG.md has no release ${version}: ${run(`--version ${version}`)}`]
      : []),
    ...repeatedIn(changelog).map((fault) => `CHANGELOG.md: ${fault}`),
    ...(tag === undefined || tag === `v${version}`
      ? []
      : [`The tag is ${tag}, and the packages have the version ${version}`]),
  ];
}

/** Without a repository npm refuses a statement of provenance (E422), and the registry has no name for the server. */
async function faultsOfAddress(
  edits: Edits,
  { workflowOf }: ReleaseOccasion,
): Promise<readonly string[]> {
  const missing = publishedFolders.flatMap((folder) => {
    const path = manifestIn(folder);
    const manifest = edits.readJson<Manifest>(path);
    const asked = ['repository', 'homepage', 'bugs'] as const;
    const members = [...asked, ...(folder === serverFolder ? (['mcpName'] as const) : [])].filter(
      (member) => manifest[member] === undefined,
    );
    return members.length === 0 ? [] : [`${path} has no ${members.join(', ')}`];
  });
  if (missing.length > 0) {
    return missing.map((fault) => `${fault}: ${run('--repository https://github.com/OWNER/NAME')}`);
  }
  const { repository } = edits.readJson<Manifest>('package.json');
  const address = addressOf(addressOfManifest(repository?.url ?? ''));
  const own = `${address.owner}/${address.name}`;
  const written = edits.copy();
  await writeAddress(written, address, undefined);
  return [
    ...written
      .changed()
      .map(
        (path) =>
          `${path} does not say ${address.url} everywhere: ${run(`--repository ${address.url}`)}`,
      ),
    ...(workflowOf === undefined || workflowOf === own
      ? []
      : [
          `The packages name the repository ${own}, and this workflow is one of ${workflowOf}. npm and the registry compare them letter by letter: ${run(`--repository https://github.com/${workflowOf}`)}`,
        ]),
  ];
}

async function faultsOfShelf(edits: Edits): Promise<readonly string[]> {
  const written = edits.copy();
  await writeShelf(written);
  return written
    .changed()
    .filter((path) => path === registryFile || path === bundleManifestFile)
    .map((path) => `${path} is not what the packages say: ${run()}`);
}
