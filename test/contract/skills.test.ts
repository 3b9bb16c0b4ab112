/**
 * Skills of a server. The names in square brackets are the checks of the public conformance suite
 * 0.2.0-alpha.12 that a test covers.
 */
import { createHash } from 'node:crypto';
import { createMcpServer, defineResource, defineSkill, defineTool } from 'mcp-actors';
import type { JsonObject, ServerDefinition, SkillSpecification } from 'mcp-actors';
import { testClient } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const extension = 'io.modelcontextprotocol/skills';
const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe]);

const refunds = defineSkill({
  name: 'refunds',
  directory: 'acme/billing',
  description: 'Handles a refund: "as it should be", # not otherwise\nwhatever comes',
  frontmatter: {
    license: 'MIT',
    metadata: { version: '1.0', owner: 'on: off, ~ & *x' },
    'allowed-tools': 'Read',
    true: 'no value',
    'Key: of # a kind': 1,
    list: [1, 2.5, true, null, { deep: ['é', '\u2028'] }],
  },
  instructions: '# Refunds\n\n---\n\nRead [the form](forms/eu form.md).',
  files: { 'forms/eu form.md': 'Ü €', 'forms/regional/ch.md': 'Fr.', 'seal.png': png },
});
const daily = defineSkill({
  name: 'daily',
  description: 'Today',
  instructions: 'Read now.txt',
  files: { 'now.txt': ({ client }) => `for ${client.info.name}` },
});

const definition = { name: 'shop', version: '1', skills: [refunds, daily] } as const;

interface Entry extends JsonObject {
  readonly uri: string;
  readonly frontmatter: JsonObject;
  readonly resources: readonly { uri: string; digest: string; size: number }[];
}

async function client(
  given: Partial<ServerDefinition> = {},
  revision = '2026-07-28',
  pageSize = 100,
) {
  const server = createMcpServer({ ...definition, ...given });
  const made = await testClient(server, { revision, limits: { pageSize } } as object);
  return { server, ...bound(made) };
}

type Client = Awaited<ReturnType<typeof testClient>>;

function bound(made: Client) {
  const request = (method: string, params: JsonObject = {}) => made.request(method, params);
  const list = async (params?: JsonObject) =>
    (await request('skills/list', params)) as JsonObject & { skills: Entry[] };
  const directory = async (uri: string, params: JsonObject = {}) =>
    (await request('resources/directory/read', { uri, ...params })) as JsonObject & {
      resources: JsonObject[];
    };
  const read = async (uri: string) => {
    const { contents } = (await request('resources/read', { uri })) as { contents: JsonObject[] };
    return contents[0] as { uri: string; mimeType?: string; text?: string; blob?: string };
  };
  return { made, request, list, directory, read };
}

/** @returns the message of the refusal */
async function refused(answer: Promise<unknown>, code: number): Promise<string> {
  const error = (await answer.then(
    (result) => ({ error: { message: `it was answered: ${JSON.stringify(result)}` } }),
    (thrown: unknown) => thrown,
  )) as { error: { code?: number; message: string } };
  expect(error.error).toMatchObject({ code });
  return error.error.message;
}

const bytesOf = ({ text, blob }: { text?: string; blob?: string }) =>
  blob === undefined ? Buffer.from(text ?? '') : Buffer.from(blob, 'base64');

const revisions = ['2025-06-18', '2025-11-25', '2026-07-28'];

describe.each(revisions)('skills for a client of %s', (revision) => {
  test('are declared as an extension and as resources [sep-2640-capability-declaration-inline, sep-2640-capability-empty-object, sep-2640-capability-requires-resources, sep-2640-capability-directory-read-flag]', async () => {
    const { made } = await client({}, revision);
    expect(made.hello['capabilities']).toMatchObject({
      extensions: { [extension]: { directoryRead: true } },
      resources: { subscribe: true, listChanged: true },
    });
  });

  test('are listed by URI [sep-2640-skills-list-implemented, sep-2640-capability-commits-to-methods, sep-2640-entry-uri-required, sep-2640-entry-uri-matches-frontmatter-name, sep-2640-skill-uri-scheme, sep-2640-authority-reg-name, sep-2640-name-naming-rules, sep-2640-names-should-be-unique]', async () => {
    const { list } = await client({}, revision);
    const { skills, nextCursor } = await list();
    expect(nextCursor).toBeUndefined();
    expect(skills.map(({ uri }) => uri)).toEqual([
      'skill://acme/billing/refunds/SKILL.md',
      'skill://daily/SKILL.md',
    ]);
    for (const { uri, frontmatter } of skills) {
      expect(uri.split('/').at(-2)).toBe(frontmatter['name']);
    }
  });

  test('have files with the digest and size of their entries [sep-2640-entry-resources-required, sep-2640-resources-complete, sep-2640-resources-uri-within-skill, sep-2640-resources-digest-format, sep-2640-resources-size-required]', async () => {
    const { list, read } = await client({}, revision);
    const [entry] = (await list()).skills;
    const { uri = '', resources = [] } = entry ?? {};
    expect(resources.map((each) => each.uri.slice(uri.length - 8)).sort()).toEqual([
      ...['SKILL.md', 'forms/eu%20form.md', 'forms/regional/ch.md', 'seal.png'],
    ]);
    for (const file of resources) {
      const contents = await read(file.uri);
      const bytes = bytesOf(contents);
      expect(contents.uri).toBe(file.uri);
      expect(file.size).toBe(bytes.length);
      expect(file.digest).toBe(`sha256:${createHash('sha256').update(bytes).digest('hex')}`);
    }
    expect(await read(`${uri.slice(0, -8)}seal.png`)).toMatchObject({ mimeType: 'image/png' });
    expect(await read(`${uri.slice(0, -8)}forms/eu%20form.md`)).toMatchObject({ text: 'Ü €' });
  });

  test('have a SKILL.md that matches the entry [sep-2640-skillmd-required, sep-2640-skillmd-frontmatter, sep-2640-entry-frontmatter-required, sep-2640-entry-frontmatter-identical, sep-2640-final-segment-equals-name, sep-2640-skillmd-mimetype]', async () => {
    const { list, read } = await client({}, revision);
    for (const { uri, frontmatter } of (await list()).skills) {
      const { text = '', mimeType } = await read(uri);
      expect(mimeType).toBe('text/markdown');
      const [, yaml = '', body] = /^---\n([^]*?)\n---\n([^]*)$/.exec(text) ?? [];
      expect(parse(yaml)).toEqual(frontmatter);
      expect(body).not.toBe('');
    }
    expect(refunds.frontmatter).toMatchObject({
      list: [1, 2.5, true, null, { deep: ['é', '\u2028'] }],
    });
  });

  test('are returned one by one by URI, listed or not, and nothing else is [sep-2640-skills-get-implemented, sep-2640-skills-get-entry-shape, sep-2640-skills-get-no-cursor, sep-2640-skills-get-unknown-uri-invalid-params]', async () => {
    const { list, request } = await client({}, revision);
    const [first] = (await list()).skills;
    const got = await request('skills/get', { uri: first?.uri });
    expect(got['skill']).toEqual(first);
    expect(got).not.toHaveProperty('nextCursor');
    for (const uri of ['skill://no/SKILL.md', 'skill://acme/billing/refunds', 'refunds', '']) {
      await refused(request('skills/get', { uri }), -32602);
    }
    await refused(request('skills/get'), -32602);
  });

  test('have no digests if they are dynamic, and are generated when read', async () => {
    const { request, read } = await client({}, revision);
    const { skill } = await request('skills/get', { uri: 'skill://daily/SKILL.md' });
    expect(skill).toMatchObject({ resources: 'dynamic' });
    expect(await read('skill://daily/now.txt')).toMatchObject({
      text: expect.stringMatching(/^for /) as string,
      mimeType: 'text/plain',
    });
  });

  test('have directories that list one level at a time [sep-2640-directory-read-method-registered, sep-2640-directory-read-result-resources-shape, sep-2640-directory-read-subdir-mimetype]', async () => {
    const { directory } = await client({}, revision);
    const root = 'skill://acme/billing/refunds';
    expect((await directory(root)).resources).toEqual([
      {
        uri: `${root}/SKILL.md`,
        name: 'refunds',
        description: refunds.frontmatter.description,
        mimeType: 'text/markdown',
        size: refunds.files.get('SKILL.md')?.size,
      },
      { uri: `${root}/forms`, name: 'forms', mimeType: 'inode/directory' },
      { uri: `${root}/seal.png`, name: 'seal.png', mimeType: 'image/png', size: 6 },
    ]);
    expect((await directory(`${root}/forms`)).resources).toMatchObject([
      { uri: `${root}/forms/eu%20form.md`, name: 'eu form.md' },
      { uri: `${root}/forms/regional`, mimeType: 'inode/directory' },
    ]);
    expect((await directory('skill://acme')).resources).toMatchObject([
      { uri: 'skill://acme/billing' },
    ]);
  });

  test('reject reading a file as a directory [sep-2640-directory-read-invalid-params]', async () => {
    const { directory } = await client({}, revision);
    const root = 'skill://acme/billing/refunds';
    expect(await refused(directory(`${root}/SKILL.md`), -32602)).toContain('is a file');
    for (const uri of [
      `${root}/none`,
      `${root}/`,
      `${root}/forms/..`,
      'skill://',
      '/',
      'file:///etc',
    ]) {
      await refused(directory(uri), -32602);
    }
  });

  test('reject files that no skill has, in any spelling', async () => {
    const { request } = await client({}, revision);
    for (const path of [
      'none.md',
      '../daily/SKILL.md',
      '%2e%2e/daily/now.txt',
      'forms',
      'forms%2Fregional%2Fch.md',
      'seal.png?x',
      '%',
    ]) {
      const uri = `skill://acme/billing/refunds/${path}`;
      const wanted = revision === '2026-07-28' ? -32602 : -32002;
      await refused(request('resources/read', { uri }), wanted);
    }
  });

  test('have their SKILL.md among the resources, with its metadata [sep-2640-skillmd-metadata-name, sep-2640-skillmd-metadata-description, sep-2640-meta-prefix]', async () => {
    const own = defineResource({ uri: 'shop://hours', name: 'hours', read: () => '9 to 5' });
    const { made } = await client({ resources: [own] }, revision, 1);
    const listed = await made.listResources();
    expect(listed.map(({ uri }) => uri)).toEqual([
      'shop://hours',
      'skill://acme/billing/refunds/SKILL.md',
      'skill://daily/SKILL.md',
    ]);
    const { name, description } = refunds.frontmatter;
    expect(listed[1]).toMatchObject({ name, description, mimeType: 'text/markdown' });
    expect(listed[1]).not.toHaveProperty('_meta');
  });

  test('are listed page by page, with complete entries [sep-2640-skills-list-pagination, sep-2640-skills-list-entry-atomic, sep-2640-directory-read-pagination]', async () => {
    const { list, directory } = await client({}, revision, 1);
    const first = await list();
    expect(first.skills).toHaveLength(1);
    expect(first.skills[0]?.resources).toHaveLength(4);
    const second = await list({ cursor: first['nextCursor'] });
    expect(second.skills.map(({ uri }) => uri)).toEqual(['skill://daily/SKILL.md']);
    expect(second).not.toHaveProperty('nextCursor');
    const names: unknown[] = [];
    let cursor: unknown;
    do {
      const page = await directory('skill://acme/billing/refunds', cursor ? { cursor } : {});
      names.push(...page.resources.map(({ name }) => name));
      cursor = page['nextCursor'];
    } while (cursor !== undefined);
    expect(names).toEqual(['refunds', 'forms', 'seal.png']);
    await refused(list({ cursor: 'of nobody' }), -32602);
    await refused(list({ cursor: 7 }), -32602);
    const { nextCursor } = await directory('skill://acme/billing/refunds');
    await refused(list({ cursor: nextCursor }), -32602);
  });
});

test('sends caching hints for lists, entries and files to a client of 2026-07-28 [sep-2640-skills-list-cache-attributes, sep-2640-skills-get-cache-attributes]', async () => {
  const caching = {
    ttlMs: 5,
    scope: 'public',
    contents: { ttlMs: 7 },
    skills: { ttlMs: 9 },
  } as const;
  const { request } = await client({ caching });
  const uri = 'skill://daily/SKILL.md';
  const kept = { ttlMs: 9, cacheScope: 'public' };
  expect(await request('skills/list')).toMatchObject(kept);
  expect(await request('skills/get', { uri })).toMatchObject(kept);
  expect(await request('resources/directory/read', { uri: 'skill://daily' })).toMatchObject(kept);
  expect(await request('resources/read', { uri })).toMatchObject({
    ttlMs: 7,
    cacheScope: 'public',
  });
  const { request: older } = await client({ caching }, '2025-11-25');
  expect(Object.keys(await older('skills/list'))).toEqual(['skills']);
});

test('hides a skill and its files from clients it is not meant for', async () => {
  const secret = defineSkill({
    name: 'secret',
    description: 'Not for all',
    instructions: 'Hush',
    tags: ['inside'],
    files: { 'a/b.md': 'b' },
  });
  const caching = { ttlMs: 5, scope: 'public' } as const;
  let isInside = false;
  const visible = { inside: () => isInside };
  const { server, made, list, request, directory } = await client(
    { skills: [daily, secret], visible, caching },
    '2025-11-25',
  );
  const uri = 'skill://secret/SKILL.md';
  const urisOf = async () => (await list()).skills.map((each) => each.uri);
  expect(await urisOf()).toEqual(['skill://daily/SKILL.md']);
  expect((await made.listResources()).map((each) => each.uri)).toEqual(['skill://daily/SKILL.md']);
  expect(await refused(request('skills/get', { uri }), -32602)).not.toContain('exists');
  await refused(request('resources/read', { uri: 'skill://secret/a/b.md' }), -32002);
  await refused(directory('skill://secret'), -32602);

  isInside = true;
  server.visibilityChanged();
  await made.nextNotification('notifications/resources/list_changed');
  expect(await urisOf()).toEqual(['skill://daily/SKILL.md', uri]);
  expect(await request('resources/read', { uri: 'skill://secret/a/b.md' })).toMatchObject({
    contents: [{ text: 'b' }],
  });
  const modern = await client({ skills: [daily, secret], visible, caching });
  expect(await modern.list()).toMatchObject({ cacheScope: 'private' });
  expect(await modern.request('resources/list')).toMatchObject({ cacheScope: 'private' });
});

test('announces added and removed skills as changes of resources', async () => {
  const { server, made, list, request } = await client({ skills: [] }, '2025-11-25');
  expect((await list()).skills).toEqual([]);
  server.skills.add(refunds);
  await made.nextNotification('notifications/resources/list_changed');
  const uri = 'skill://acme/billing/refunds/forms/regional/ch.md';
  await made.subscribe(uri);
  server.resourceUpdated(uri);
  expect(await made.nextNotification('notifications/resources/updated')).toMatchObject({ uri });
  expect(() => server.skills.add(refunds)).toThrow('already exists');

  server.replace({ ...definition, skills: () => [daily, daily] });
  await made.nextNotification('notifications/resources/list_changed');
  expect((await list()).skills.map((each) => each.uri)).toEqual(['skill://daily/SKILL.md']);
  await refused(request('resources/read', { uri }), -32002);
});

test('lets a handler hide a skill in its session, and show it again', async () => {
  const uri = 'skill://daily/SKILL.md';
  const toggle = defineTool({
    name: 'toggle',
    description: 'Hides or shows it',
    inputSchema: { type: 'object', properties: { on: { type: 'boolean' } } },
    handler: ({ on }, { session }) => {
      if (on) session.enable(uri);
      else session.disable(uri);
      return 'done';
    },
  });
  const { made, list } = await client({ tools: [toggle] }, '2025-11-25');
  await made.callTool('toggle', { on: false });
  expect((await list()).skills.map((each) => each.uri)).toEqual([refunds.uri]);
  await made.callTool('toggle', { on: true });
  expect((await list()).skills).toHaveLength(2);
});

test('calls the skill finder for each request, and reports an invalid result as a bug', async () => {
  let found: unknown = [];
  const asked: string[] = [];
  const { list, request } = await client({
    skills: async ({ client: { info } }) => {
      asked.push(info.name);
      return found as [];
    },
  });
  expect((await list()).skills).toEqual([]);
  found = [refunds];
  expect((await list()).skills).toHaveLength(1);
  const uri = 'skill://acme/billing/refunds/forms/regional/ch.md';
  expect(await request('resources/read', { uri })).toMatchObject({ contents: [{ text: 'Fr.' }] });
  expect(new Set(asked).size).toBe(1);
  // Skills have one scheme, so the finder is not called for others.
  const before = asked.length;
  await refused(request('resources/read', { uri: 'notes://x' }), -32602);
  expect(asked).toHaveLength(before);
  found = 'none';
  await refused(list(), -32603);
});

test('reports a file that returns neither text nor bytes as a bug', async () => {
  const broken = defineSkill({
    name: 'broken',
    description: 'Broken',
    instructions: '',
    files: { x: () => 7 as never },
  });
  const { request } = await client({ skills: [broken] });
  await refused(request('resources/read', { uri: 'skill://broken/x' }), -32603);
});

test('declares no skills on a server without them, and rejects their methods', async () => {
  const made = await testClient(createMcpServer({ name: 'n', version: '1', resources: [] }));
  expect(made.hello['capabilities']).not.toHaveProperty('extensions');
  for (const method of ['skills/list', 'skills/get', 'resources/directory/read']) {
    await refused(made.request(method, { uri: 'skill://a/SKILL.md' }), -32601);
  }
});

describe('an invalid skill definition', () => {
  const good: SkillSpecification = { name: 'ok', description: 'Good', instructions: 'Do it' };
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`${n}.md`, '']));
  const wrong: { readonly [what: string]: readonly [object, string] } = {
    'an uppercase letter in its name': [
      { name: 'Upper' },
      '"name" must be 1 to 64 lowercase letters',
    ],
    'two hyphens in its name': [{ name: 'a--b' }, '"name" must be'],
    'a hyphen before its name': [{ name: '-a' }, '"name" must be'],
    'a long name': [{ name: 'a'.repeat(65) }, '"name" must be'],
    'a name that is no text': [{ name: 7 }, 'must be a string'],
    'no description': [
      { description: '' },
      '"description" must be a string of 1 to 1024 characters',
    ],
    'a long description': [{ description: 'é'.repeat(1025) }, '"description" must be'],
    'no instructions': [{ instructions: undefined }, '"instructions"'],
    'another name in its frontmatter': [{ frontmatter: { name: 'other!' } }, '"name" must be'],
    'a directory above': [{ directory: '..' }, 'its directory must be a relative path of names'],
    'an absolute directory': [
      { directory: '/a' },
      'its directory must be a relative path of names',
    ],
    'a backslash in its directory': [{ directory: 'a\\b' }, 'must be a relative path of names'],
    'a file above it': [{ files: { '../x': '' } }, 'must be a file below skill://ok'],
    'an absolute file': [{ files: { '/x': '' } }, 'must be a file below skill://ok'],
    'a gap in a path': [{ files: { 'a//x': '' } }, 'must be a file below skill://ok'],
    'too many files': [{ files: many(512) }, 'must have at most 512 files'],
    'too many bytes': [
      { files: { big: new Uint8Array(2 ** 24) } },
      'must have at most 16777216 bytes',
    ],
    'a "visible" that is no function': [{ visible: true }, 'must be a function'],
  };

  test.each(Object.entries(wrong))('with %s is rejected', (_, [members, message]) => {
    expect(() => defineSkill({ ...good, ...members })).toThrow(message);
  });

  test('with a misspelt or misplaced member is rejected', () => {
    const { instructions, ...rest } = good;
    expect(() => defineSkill({ ...rest, body: instructions } as never)).toThrow('"body"');
    expect(() => defineSkill({ ...good, license: 'MIT' } as never)).toThrow('"frontmatter"');
    expect(() => createMcpServer({ ...definition, skills: [good as never] })).toThrow(
      'defineSkill',
    );
  });

  test('is distinguished from one at its limits [sep-2640-limit-resources-per-skill, sep-2640-limit-total-size, sep-2640-metadata-reserved-prefix]', () => {
    expect(defineSkill({ ...good, files: many(511) }).files.size).toBe(512);
    expect(defineSkill({ ...good, description: '\u{1F600}'.repeat(1024) }).uri).toBe(
      'skill://ok/SKILL.md',
    );
  });
});
