/** `npm run release -- write` and what checks before anything is published, on a copy of the files that it writes. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Run } from '../../scripts/release/command.ts';
import { Edits } from '../../scripts/release/edits.ts';
import { faultsOfRelease } from '../../scripts/release/faults.ts';
import { pushImage } from '../../scripts/release/image.ts';
import { factsOf } from '../../scripts/release/facts.ts';
import { manifestIn, packageFolders, publishedFolders } from '../../scripts/release/packages.ts';
import type { Manifest } from '../../scripts/release/packages.ts';
import { publishPacked } from '../../scripts/release/publish.ts';
import { askRegistry } from '../../scripts/release/registry.ts';
import { namesVersion, versionPlaces } from '../../scripts/release/version.ts';
import { writeRelease } from '../../scripts/release/write.ts';
import { copied, repository } from './copied.ts';
import type { Copied } from './copied.ts';

const url = 'https://github.com/Some-Owner/mcp.actors';
const today = '2026-12-01';
const everything = { repository: url, author: 'Ada <ada@example.com>', version: '2.3.4-beta.1' };

const manifestsOf = ({ edits }: Copied): readonly Manifest[] =>
  packageFolders.map((folder) => edits().readJson<Manifest>(manifestIn(folder)));

let readyTexts: ReturnType<Copied['texts']> | undefined;

/** A copy that can be released. It is written once, and copied then. */
async function ready(): Promise<Copied> {
  const copy = copied();
  if (readyTexts === undefined) await writeRelease(copy.edits(), everything, today);
  readyTexts ??= copy.texts();
  for (const [path, text] of Object.entries(readyTexts)) {
    writeFileSync(join(copy.folder, path), text);
  }
  return copy;
}

describe('npm run release', () => {
  test('knows every package and publishes the public ones', () => {
    const folders = [
      '.',
      ...readdirSync(join(repository, 'packages')).map((name) => `packages/${name}`),
    ];
    expect([...packageFolders].sort()).toEqual(
      folders.filter((folder) => existsSync(join(repository, manifestIn(folder)))).sort(),
    );
    const edits = new Edits(repository);
    const open = packageFolders.filter(
      (folder) => edits.readJson<Manifest>(manifestIn(folder)).private !== true,
    );
    expect(open).toEqual([...publishedFolders]);
  });

  test("writes the repository address into every package, preserving the owner's case", async () => {
    const copy = await ready();
    for (const [index, manifest] of manifestsOf(copy).entries()) {
      const folder = packageFolders[index] ?? '';
      const isRoot = folder === '.';
      expect(manifest).toMatchObject({
        author: 'Ada <ada@example.com>',
        bugs: { url: `${url}/issues` },
        homepage: isRoot ? `${url}#readme` : `${url}/tree/main/${folder}#readme`,
        repository: {
          type: 'git',
          url: `git+${url}.git`,
          ...(isRoot ? {} : { directory: folder }),
        },
      });
      expect(manifest.mcpName).toBe(
        folder === 'packages/cli' ? 'io.github.Some-Owner/mcp-actors' : undefined,
      );
    }
  });

  test('is idempotent for every option', async () => {
    for (const wishes of [{}, { repository: `${url}.git` }, { version: '9.0.0' }, everything]) {
      const copy = copied();
      await writeRelease(copy.edits(), wishes, today);
      const once = copy.texts();
      expect(await writeRelease(copy.edits(), wishes, '2027-01-01')).toEqual([]);
      // What is written is remembered: nothing has to be said again.
      expect(await writeRelease(copy.edits(), {}, today)).toEqual([]);
      expect(copy.texts()).toEqual(once);
    }
  });

  test('writes only the requested changes', async () => {
    const copy = copied();
    const before = copy.texts();
    expect(await writeRelease(copy.edits(), {}, today)).toEqual([]);
    expect(copy.texts()).toEqual(before);
    const written = await writeRelease(copy.edits(), { repository: url }, today);
    expect([...written].sort()).toEqual(
      [...packageFolders.map(manifestIn), 'release/bundle/manifest.json', 'server.json'].sort(),
    );
  });

  test('replaces an existing repository address', async () => {
    const copy = await ready();
    await writeRelease(copy.edits(), { repository: 'https://github.com/another/place' }, today);
    expect(Object.values(copy.texts()).filter((text) => text.includes('Some-Owner'))).toEqual([]);
    expect(await faultsOfRelease(copy.edits())).toEqual([]);
  });

  test('writes a version into packages, lockfile, template and pages, and moves the unreleased notes to it', async () => {
    const copy = copied();
    const { version: old } = factsOf(copy.edits());
    await writeRelease(copy.edits(), { version: '2.3.4' }, today);
    const { packages } = copy.edits().readJson<{
      readonly packages: { readonly [path: string]: Partial<Manifest> };
    }>('package-lock.json');
    for (const [index, manifest] of manifestsOf(copy).entries()) {
      const folder = packageFolders[index] ?? '';
      const locked = packages[folder === '.' ? '' : folder];
      const kinds = ['dependencies', 'devDependencies', 'peerDependencies'] as const;
      for (const kind of kinds) {
        // `npm ci` refuses a lockfile that asks for something else.
        expect(locked?.[kind] ?? {}).toEqual(manifest[kind] ?? {});
        const ours = Object.entries(manifest[kind] ?? {}).filter(([name]) =>
          /^@?mcp-actors/.test(name),
        );
        for (const [, asked] of ours) expect(asked).toMatch(/^(2\.3\.4|file:\.)$/);
      }
      expect([manifest.version, locked?.version]).toEqual(['2.3.4', '2.3.4']);
    }
    const texts = copy.texts();
    expect(texts['packages/cli/templates/server/package.json']).toContain('"mcp-actors": "^2.3.4"');
    expect(texts['CHANGELOG.md']).toMatch(/^## 2\.3\.4 - 2026-12-01$/m);
    expect(versionPlaces.filter((path) => !namesVersion(texts[path] ?? '', '2.3.4'))).toEqual([]);
    expect(versionPlaces.filter((path) => namesVersion(texts[path] ?? '', old))).toEqual([]);
  });

  test('leaves the version out of all other files', () => {
    const { version } = factsOf(new Edits(repository));
    const listing = execFileSync('git', ['ls-files', '-z'], { cwd: repository, encoding: 'utf8' });
    const places = listing
      .split('\0')
      .filter(
        (path) => /\.(ts|mjs|md|ya?ml|json)$/.test(path) && existsSync(join(repository, path)),
      )
      // What was measured, was measured with a version.
      .filter((path) => !/^(CHANGELOG\.md|docs\/performance.*)$/.test(path))
      .filter((path) => namesVersion(readFileSync(join(repository, path), 'utf8'), version));
    expect(places.sort()).toEqual([...versionPlaces].sort());
  });

  test.each([
    [{ repository: 'https://gitlab.com/owner/name' }, 'is no address of a repository'],
    [{ repository: 'git@github.com:owner/name.git' }, 'write https://github.com/OWNER/NAME'],
    [{ repository: 'https://github.com/owner' }, 'is no address of a repository'],
    [{ repository: 'https://github.com/owner/name/tree/main' }, 'is no address of a repository'],
    [{ version: '1.2' }, 'is no version: write it as 1.2.3'],
    [{ version: '^1.2.3' }, 'is no version'],
    [{ author: 'Ada' }, '--author is written with --repository'],
  ])('rejects %o and writes nothing', async (wishes, why) => {
    const copy = copied();
    const before = copy.texts();
    await expect(writeRelease(copy.edits(), wishes, today)).rejects.toThrow(why);
    expect(copy.texts()).toEqual(before);
  });
});

describe('npm run release -- check', () => {
  /** A change of one file on disk. */
  const change = ({ folder }: Copied, path: string, from: string, to: string) => {
    const text = readFileSync(join(folder, path), 'utf8');
    expect(text).toContain(from);
    writeFileSync(join(folder, path), text.replace(from, to));
  };

  test('reports no problem once address, version and changelog are written', async () => {
    const copy = await ready();
    const occasion = { tag: 'v2.3.4-beta.1', workflowOf: 'Some-Owner/mcp.actors' };
    expect(await faultsOfRelease(copy.edits(), occasion)).toEqual([]);
  });

  test('reports a missing address and the command that writes it', async () => {
    const copy = copied();
    for (const folder of packageFolders) {
      const path = manifestIn(folder);
      const manifest = copy.edits().readJson<Manifest>(path);
      const nothing = { repository: undefined, homepage: undefined, bugs: undefined };
      const text = JSON.stringify({ ...manifest, ...nothing, mcpName: undefined });
      writeFileSync(join(copy.folder, path), text);
    }
    await writeRelease(copy.edits(), { version: '2.3.4' }, today);
    expect(await faultsOfRelease(copy.edits())).toEqual([
      'package.json has no repository, homepage, bugs: run `npm run release -- write --repository https://github.com/OWNER/NAME`',
      'packages/inspector/package.json has no repository, homepage, bugs: run `npm run release -- write --repository https://github.com/OWNER/NAME`',
      'packages/openapi/package.json has no repository, homepage, bugs: run `npm run release -- write --repository https://github.com/OWNER/NAME`',
      'packages/cli/package.json has no repository, homepage, bugs, mcpName: run `npm run release -- write --repository https://github.com/OWNER/NAME`',
      'server.json: name is missing',
      'server.json: repository is missing',
    ]);
  });

  test.each([
    [
      'packages/cli/package.json',
      'io.github.Some-Owner',
      'io.github.some-owner',
      /^packages\/cli\/package\.json does not say/,
    ],
    [
      'packages/inspector/package.json',
      '"directory": "packages/inspector"',
      '"directory": "inspector"',
      /^packages\/inspector\/package\.json does not say/,
    ],
    [
      'packages/checker/package.json',
      '"version": "2.3.4-beta.1"',
      '"version": "2.3.3"',
      /^@mcp-actors\/checker has the version 2\.3\.3, and mcp-actors 2\.3\.4-beta\.1/,
    ],
    [
      'packages/cli/package.json',
      'A read-only workspace server',
      'A workspace server',
      /is not what the packages say: run `npm run release -- write`$/,
    ],
    ['server.json', '"runtimeHint": "npx"', '"runtimeHint": "node"', /^server\.json/],
    [
      'CHANGELOG.md',
      '## 2.3.4-beta.1',
      '## 2.3.3',
      /^CHANGELOG\.md has no release 2\.3\.4-beta\.1/,
    ],
    [
      'CHANGELOG.md',
      '### Changed',
      '### Added',
      /^CHANGELOG\.md: 2\.3\.4-beta\.1 has the section "Added" twice/,
    ],
  ])('reports that %s has %j as %j', async (path, from, to, fault) => {
    const copy = await ready();
    change(copy, path, from, to);
    expect(await faultsOfRelease(copy.edits())).toContainEqual(expect.stringMatching(fault));
  });

  test("compares the tag and the workflow's repository case-sensitively", async () => {
    const copy = await ready();
    const occasion = { tag: 'v2.3.4', workflowOf: 'some-owner/mcp.actors' };
    expect(await faultsOfRelease(copy.edits(), occasion)).toEqual([
      'The tag is v2.3.4, and the packages have the version 2.3.4-beta.1',
      'The packages name the repository Some-Owner/mcp.actors, and this workflow is one of some-owner/mcp.actors. npm and the registry compare them letter by letter: run `npm run release -- write --repository https://github.com/some-owner/mcp.actors`',
    ]);
  });
});

describe('npm run release -- publish', () => {
  /** Programs that end with 0; `npm view` answers what is known. */
  function programs(known: readonly string[] = [], failing = 'nothing') {
    const ran: string[] = [];
    const by: Run = async (program, args) => {
      await Promise.resolve();
      const line = [program, ...args].join(' ');
      if (args[0] === 'view') {
        const isKnown = known.includes(args[1] ?? '');
        return isKnown
          ? { status: 0, output: '2.3.4-beta.1\n', complaint: '' }
          : { status: 1, output: '', complaint: '' };
      }
      ran.push(line.replaceAll(/[\\/]\S*[\\/]/g, ''));
      return { status: line.includes(failing) ? 1 : 0, output: '', complaint: '' };
    };
    return { ran, by };
  }

  const publication = (copy: Copied) => ({
    edits: copy.edits(),
    packed: '/packed',
    occasion: {},
    isDry: false,
  });

  test('fails without publishing if the provenance statement would be rejected', async () => {
    const { ran, by } = programs();
    const copy = await ready();
    const manifest = join(copy.folder, 'packages/inspector/package.json');
    const written = JSON.parse(readFileSync(manifest, 'utf8')) as Manifest;
    writeFileSync(manifest, JSON.stringify({ ...written, repository: undefined }));
    await expect(publishPacked({ ...publication(copy), by })).rejects.toThrow(
      /^Nothing is published:\n- packages\/inspector\/package\.json has no repository/,
    );
    expect(ran).toEqual([]);
  });

  test('publishes dependencies first, with provenance', async () => {
    const { ran, by } = programs();
    await publishPacked({ ...publication(await ready()), by });
    const how = '--access public --provenance';
    expect(ran).toEqual([
      `npm publish mcp-actors-2.3.4-beta.1.tgz ${how}`,
      `npm publish mcp-actors-inspector-2.3.4-beta.1.tgz ${how}`,
      `npm publish mcp-actors-openapi-2.3.4-beta.1.tgz ${how}`,
      `npm publish mcp-actors-cli-2.3.4-beta.1.tgz ${how}`,
    ]);
  });

  test('skips versions that npm already has and stops at the first rejection', async () => {
    const copy = await ready();
    const stopped = programs([], 'inspector');
    await expect(publishPacked({ ...publication(copy), by: stopped.by })).rejects.toThrow(
      /inspector-2\.3\.4-beta\.1\.tgz .* has ended with 1/,
    );
    expect(stopped.ran).toHaveLength(2);
    const again = programs(['mcp-actors@2.3.4-beta.1']);
    await publishPacked({ ...publication(copy), by: again.by });
    expect(again.ran.map((line) => line.split(' ')[2])).toEqual([
      'mcp-actors-inspector-2.3.4-beta.1.tgz',
      'mcp-actors-openapi-2.3.4-beta.1.tgz',
      'mcp-actors-cli-2.3.4-beta.1.tgz',
    ]);
  });

  test("runs the registry's publisher in an exact version", async () => {
    const { ran, by } = programs();
    await askRegistry('validate', by);
    await askRegistry('publish', by);
    expect(ran.map((line) => line.replace(/^go run \S*publisher@v\d+\.\d+\.\d+ /, ''))).toEqual([
      'validate server.json',
      'login github-oidc',
      'publish --file=server.json',
    ]);
    await expect(askRegistry('', by)).rejects.toThrow('Write validate or publish');
  });

  test("pushes an image with a lowercase name and the registry's ownership label", async () => {
    const { ran, by } = programs();
    const copy = await ready();
    await pushImage(factsOf(copy.edits()), '.', by);
    expect(ran).toHaveLength(1);
    expect(ran[0]).toContain(
      '--label=io.modelcontextprotocol.server.name=io.github.Some-Owner/mcp-actors ',
    );
    expect(ran[0]).toMatch(/--tag=ghcr\.io.*2\.3\.4-beta\.1 .*--push \.$/);
    const unknown = { ...factsOf(copy.edits()), address: undefined };
    await expect(pushImage(unknown, '.', by)).rejects.toThrow('The repository has no address');
  });
});
