/** What the places that list servers are told: each by that place's own rules, and all the same of name, version and description. */
import manifestSchema from '@anthropic-ai/mcpb/mcpb-manifest-v0.3.schema.json' with { type: 'json' };
import { getMcpConfigForManifest, hasRequiredConfigMissing } from '@anthropic-ai/mcpb/browser';
import { Ajv } from 'ajv';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { workspaceServer } from '@mcp-actors/workspace-server';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { addressOf } from '../../scripts/release/address.ts';
import { Edits } from '../../scripts/release/edits.ts';
import { factsOf } from '../../scripts/release/facts.ts';
import { faultsOfEntry } from '../../scripts/release/registry-rules.ts';
import {
  bundleFolder,
  bundleManifest,
  catalogueEntry,
  registryEntry,
} from '../../scripts/release/shelf.ts';
import { repository } from './copied.ts';

const address = addressOf('https://github.com/Some-Owner/some-name');
const facts = { ...factsOf(new Edits(repository)), address };

/** The parts of an entry that a test changes. */
interface Entry {
  [member: string]: unknown;
  packages: { [member: string]: unknown }[];
}

const entryOf = (): Entry => structuredClone(registryEntry(facts)) as Entry;

describe('server.json', () => {
  test("conforms to the registry's schema", () => {
    expect(faultsOfEntry(entryOf())).toEqual([]);
  });

  test('contains the npm package, and the image over HTTP on loopback only', () => {
    const [npm, image] = entryOf().packages;
    expect(npm).toMatchObject({
      registryType: 'npm',
      identifier: '@mcp-actors/cli',
      version: facts.version,
      runtimeHint: 'npx',
      transport: { type: 'stdio' },
    });
    expect(image).toMatchObject({
      registryType: 'oci',
      identifier: `ghcr.io/some-owner/mcp-actors:${facts.version}`,
      transport: { type: 'streamable-http', url: 'http://127.0.0.1:3000/mcp' },
    });
    expect(image).not.toHaveProperty('version');
    expect(JSON.stringify(image)).toContain('"127.0.0.1:3000:3000"');
  });

  test.each<[string, string, (entry: Entry) => void]>([
    ['name', 'without a name', (entry) => delete entry['name']],
    ['name', 'a name with a second slash', (entry) => (entry['name'] = 'io.github.a/b/c')],
    [
      'description',
      'a description of 101 characters',
      (entry) => (entry['description'] = 'a'.repeat(101)),
    ],
    ['version', 'a range', (entry) => (entry['version'] = '^1.2.3')],
    ['version', 'the word latest', (entry) => (entry['version'] = 'latest')],
    ['version', 'a wildcard', (entry) => (entry['version'] = '1.x')],
    [
      '$schema',
      'an older schema',
      (entry) =>
        (entry['$schema'] =
          'https://static.modelcontextprotocol.io/schemas/2025-09-29/server.schema.json'),
    ],
    ['websiteUrl', 'a page without TLS', (entry) => (entry['websiteUrl'] = 'http://example.com')],
    [
      'repository.source',
      'a repository of another host',
      (entry) => Object.assign(entry['repository'] as object, { source: 'svn' }),
    ],
    [
      'packages[0].transport',
      'a URL of a pipe',
      (entry) =>
        (entry.packages[0] = {
          ...entry.packages[0],
          transport: { type: 'stdio', url: 'http://a' },
        }),
    ],
    [
      'packages[0].packageArguments[0]',
      'an argument without a hint',
      (entry) =>
        (entry.packages[0] = {
          ...entry.packages[0],
          packageArguments: [{ type: 'positional', description: 'a' }],
        }),
    ],
    [
      'packages[0].environmentVariables[0]',
      'a variable without a description',
      (entry) =>
        (entry.packages[0] = { ...entry.packages[0], environmentVariables: [{ name: 'A' }] }),
    ],
    [
      'packages[0].identifier',
      'an image of a private registry',
      (entry) => (entry.packages[0] = { ...entry.packages[1], identifier: 'example.com/a/b:1' }),
    ],
    [
      'packages[1]',
      'an image with a version beside its tag',
      (entry) => (entry.packages[1] = { ...entry.packages[1], version: '1.2.3' }),
    ],
    [
      'packages[1].packageArguments[0]',
      'a flag with its value',
      (entry) =>
        (entry.packages[1] = {
          ...entry.packages[1],
          packageArguments: [{ type: 'named', name: '--port 8080', description: 'a' }],
        }),
    ],
  ])('is rejected at %s: %s', (place, _what, change) => {
    const entry = entryOf();
    change(entry);
    const faults = faultsOfEntry(entry);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(place);
  });
});

describe("the bundle's manifest", () => {
  const manifest = bundleManifest(facts) as Parameters<
    typeof getMcpConfigForManifest
  >[0]['manifest'];

  test('conforms to version 0.3 with and without a repository address', () => {
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(manifestSchema);
    for (const each of [manifest, bundleManifest({ ...facts, address: undefined })]) {
      expect(validate(each) ? [] : validate.errors).toEqual([]);
    }
  });

  test('asks for directories and passes them to exactly this version', async () => {
    expect(hasRequiredConfigMissing({ manifest })).toBe(true);
    const started = await getMcpConfigForManifest({
      manifest,
      extensionPath: '/bundle',
      systemDirs: {},
      userConfig: { directories: ['/srv/a folder', '/srv/b'] },
      pathSeparator: '/',
    });
    const args = ['-y', `@mcp-actors/cli@${facts.version}`, 'workspace', '/srv/a folder', '/srv/b'];
    expect([started?.command, ...(started?.args ?? [])].join('|')).toBe(
      [...(process.platform === 'win32' ? ['cmd', '/c'] : []), 'npx', ...args].join('|'),
    );
  });

  test('refers to an entry point inside the bundle', () => {
    expect(existsSync(join(repository, bundleFolder, manifest.server.entry_point))).toBe(true);
  });
});

test('pins a commit and mounts the readable directories in the Docker catalog entry', () => {
  const commit = 'a'.repeat(40);
  expect(parse(catalogueEntry(facts, address, commit))).toMatchObject({
    name: 'mcp-actors',
    image: 'mcp/mcp-actors',
    type: 'server',
    source: { project: address.url, commit },
    run: { disableNetwork: true, volumes: ['{{mcp-actors.paths|volume|into}}'] },
    config: { parameters: { required: ['paths'] } },
  });
});

test('uses the same name, version and description in all manifests', () => {
  const { version, description } = facts;
  const said = { version, description };
  const manifest = bundleManifest(facts);
  expect(registryEntry(facts)).toMatchObject({ ...said, name: 'io.github.Some-Owner/mcp-actors' });
  expect(manifest).toMatchObject({ ...said, name: 'mcp-actors' });
  expect(parse(catalogueEntry(facts, address, 'a'))).toMatchObject({
    name: 'mcp-actors',
    about: { description: expect.stringContaining(description) as string },
  });
  const { definition } = workspaceServer({ version, cwd: '/', home: '/' });
  expect(
    (manifest as { readonly tools: readonly { readonly name: string }[] }).tools.map(
      ({ name }) => name,
    ),
  ).toEqual(definition.tools?.map(({ name }) => name));
});

describe("Claude's directory entry", () => {
  const { definition } = workspaceServer({ version: '1', cwd: '/', home: '/' });

  test.each((definition.tools ?? []).map((tool) => [tool.name, tool] as const))(
    'declares %s as read-only, with its title',
    (_name, { title, annotations }) => {
      expect(title).toMatch(/^[A-Z]/);
      expect(annotations).toMatchObject({ readOnlyHint: true, openWorldHint: false });
      // Exactly one of the two may be true.
      expect(annotations).not.toHaveProperty('destructiveHint');
    },
  );

  test("finds the privacy policy in both READMEs and at the bundle's address", () => {
    const pages = { 'README.md': 'PRIVACY.md', 'packages/cli/README.md': '../../PRIVACY.md' };
    for (const [path, link] of Object.entries(pages)) {
      const text = readFileSync(join(repository, path), 'utf8');
      expect(text).toMatch(/^## Privacy$/m);
      expect(text).toContain(`](${link})`);
    }
    expect(bundleManifest(facts)).toHaveProperty('privacy_policies', [
      'https://github.com/Some-Owner/some-name/blob/main/PRIVACY.md',
    ]);
    expect(existsSync(join(repository, 'PRIVACY.md'))).toBe(true);
  });
});
