/** The version of all packages: they are released together, and those that need one of the others ask for exactly its version. */
import { withReleased } from './changelog.ts';
import type { Edits } from './edits.ts';
import { manifestIn, packageFolders } from './packages.ts';
import type { Manifest, Versions } from './packages.ts';

/** The project that `mcp-actors init` writes asks for this version or a newer one. */
const template = 'packages/cli/templates/server/package.json';

/** The pages and sources that name the version, beside what is made by `npm run docs`. */
export const versionPlaces = [
  '.github/ISSUE_TEMPLATE/bug.yml',
  'README.md',
  'docs/maintaining/checked-servers.md',
  'docs/diagnosing.md',
  'docs/maintaining/driver.md',
  'packages/cli/src/init.ts',
  'packages/client/src/connection/connection-setup.ts',
] as const;

/** A name of ours, and the version behind it: in a sentence, as a tarball, or as members of an object. */
const named = (version: string): RegExp =>
  new RegExp(
    String.raw`(?<=\bmcp-actors(?:-cli)?(?:[ -]|', version: '))${version.replaceAll('.', String.raw`\.`)}(?![\d-])`,
    'g',
  );

/** Whether a text names this version of ours. */
export const namesVersion = (text: string, version: string): boolean => named(version).test(text);

interface Lockfile {
  readonly version: string;
  readonly packages: { readonly [path: string]: Partial<Manifest> };
}

/**
 * @param version as 1.2.3 or 1.2.3-beta.1
 * @param date of the release, as 2026-11-23
 * @throws {TypeError} it is no version
 */
export async function writeVersion(edits: Edits, version: string, date: string): Promise<void> {
  if (!/^\d+\.\d+\.\d+(-[\da-z.-]+)?$/i.test(version)) {
    throw new TypeError(`${JSON.stringify(version)} is no version: write it as 1.2.3`);
  }
  const { version: old } = edits.readJson<Manifest>('package.json');
  const names = packageFolders.map((folder) => edits.readJson<Manifest>(manifestIn(folder)).name);
  const moved = (manifest: Partial<Manifest>) => withVersion(manifest, { names, old, version });
  for (const folder of packageFolders) {
    const path = manifestIn(folder);
    await edits.writeJson(path, moved(edits.readJson<Manifest>(path)));
  }

  const lock = edits.readJson<Lockfile>('package-lock.json');
  const packages = Object.entries(lock.packages).map(([path, entry]) => {
    const isOurs = packageFolders.some((folder) => path === (folder === '.' ? '' : folder));
    return [path, isOurs ? moved(entry) : entry] as const;
  });
  const locked = { ...lock, version, packages: Object.fromEntries(packages) };
  edits.write('package-lock.json', `${JSON.stringify(locked, undefined, 2)}\n`);

  edits.write(template, edits.read(template).replace(/(?<="mcp-actors": "\^)[^"]+/, version));
  for (const path of versionPlaces) {
    edits.write(path, edits.read(path).replaceAll(named(old), version));
  }
  edits.write('CHANGELOG.md', withReleased(edits.read('CHANGELOG.md'), version, date));
}

interface Move {
  readonly names: readonly string[];
  readonly old: string;
  readonly version: string;
}

function withVersion(manifest: Partial<Manifest>, move: Move): Partial<Manifest> {
  const kinds = ['dependencies', 'devDependencies', 'peerDependencies'] as const;
  const moved = kinds
    .filter((kind) => manifest[kind] !== undefined)
    .map((kind) => [kind, asked(manifest[kind] ?? {}, move)] as const);
  return { ...manifest, version: move.version, ...Object.fromEntries(moved) };
}

/** What is asked of one of ours, other than by its folder, is its version. */
const asked = (versions: Versions, { names, old, version }: Move): Versions =>
  Object.fromEntries(
    Object.entries(versions).map(([name, range]) => [
      name,
      names.includes(name) && range === old ? version : range,
    ]),
  );
