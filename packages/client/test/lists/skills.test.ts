/** A host before servers whose skills are not what they say. */
import { createHash } from 'node:crypto';
import { RuntimeError } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { connect } from 'mcp-actors/client';
import type { ListedSkill } from 'mcp-actors/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { serverSkills } from '../../src/lists/skills.ts';
import type { SkillsHost } from '../../src/lists/skills.ts';
import { ScriptedTransport } from '../scripted-transport.ts';

const extension = 'io.modelcontextprotocol/skills';
const manifestUri = 'skill://pdf-processing/SKILL.md';
const formsUri = 'skill://pdf-processing/references/FORMS.md';
const manifest = `---
name: pdf-processing
description: Extract, fill, and assemble PDF documents
---

Skill body.
`;
const forms = 'Supporting content.\n';

const fileOf = (uri: string, content: string | Uint8Array) => ({
  uri,
  digest: `sha256:${createHash('sha256').update(content).digest('hex')}`,
  size: Buffer.byteLength(content),
});

const entry = (members: JsonObject = {}): ListedSkill => ({
  uri: manifestUri,
  frontmatter: {
    name: 'pdf-processing',
    description: 'Extract, fill, and assemble PDF documents',
  },
  resources: [fileOf(manifestUri, manifest), fileOf(formsUri, forms)],
  ...members,
});

interface Served {
  /** The pages of `skills/list`, by cursor. */
  readonly pages?: { readonly [cursor: string]: object };
  readonly got?: unknown;
  /** What each file gives. */
  readonly files?: { readonly [uri: string]: object };
  readonly capabilities?: JsonObject;
}

/** A host before a server that serves this, what it was asked, and what it was told to have done wrong. */
async function before({ pages, got, files, capabilities }: Served) {
  const text: { readonly [uri: string]: object } = {
    [manifestUri]: { text: manifest },
    [formsUri]: { text: forms },
    ...files,
  };
  const transport = new ScriptedTransport(({ method, params = {} }) => {
    const uri = String(params['uri']);
    switch (method) {
      case 'initialize':
        return {
          protocolVersion: params['protocolVersion'],
          serverInfo: { name: 'hostile', version: '1' },
          capabilities: capabilities ?? {
            resources: {},
            extensions: { [extension]: { directoryRead: true } },
          },
        };
      case 'skills/list':
        return (
          pages?.[typeof params['cursor'] === 'string' ? params['cursor'] : ''] ?? {
            skills: [entry()],
          }
        );
      case 'skills/get':
        return { skill: got };
      case 'resources/read':
        return { contents: [{ uri, ...text[uri] }] };
      case 'resources/directory/read':
        return { resources: [{ uri: `${uri}/a.md`, name: 'a.md' }, { name: 'nameless' }] };
      default:
        return undefined;
    }
  });
  const problems: string[] = [];
  const host = await connect({ transport }, { era: 'legacy', restart: 'none', report: () => {} });
  host.events$.subscribe((event) => {
    if (event.type === 'problem') problems.push(`${event.name} ${event.message}`);
  });
  onTestFinished(() => host.close());
  const reads = () =>
    transport.sent.flatMap(({ method, params }) =>
      method === 'resources/read' ? [params?.['uri']] : [],
    );
  return { host, transport, problems, reads };
}

async function codeOf(answer: Promise<unknown>): Promise<string> {
  const error: unknown = await answer.catch((thrown: unknown) => thrown);
  if (!(error instanceof RuntimeError)) throw new Error(`It came to ${String(error)}`);
  return `${error.code}: ${error.message}`;
}

test('nothing is read before the host wants it [sep-2640-host-no-prefetch]', async () => {
  const { host, reads } = await before({});
  const [skill] = await host.skills.list();
  expect(skill).toEqual(entry());
  expect(await host.skills.readDirectory('skill://pdf-processing')).toEqual([
    { uri: 'skill://pdf-processing/a.md', name: 'a.md' },
  ]);
  expect(reads()).toEqual([]);
  expect((await host.skills.read(entry())).text).toBe(manifest);
  expect((await host.skills.read(entry(), 'references/FORMS.md')).text).toBe(forms);
  expect(reads()).toEqual([manifestUri, formsUri]);
});

test('a skill is had by its URI, and a file by any path in the skill that leads to it', async () => {
  const { host, transport, reads } = await before({ got: entry() });
  expect(await host.skills.get(manifestUri)).toEqual(entry());
  expect(transport.sent.at(-1)).toMatchObject({
    method: 'skills/get',
    params: { uri: manifestUri },
  });
  const paths = [
    formsUri,
    `${formsUri}#part`,
    './references/FORMS.md',
    'references/./FORMS.md#part',
    'references/../references/FORMS.md',
  ];
  for (const path of paths) expect((await host.skills.read(entry(), path)).text).toBe(forms);
  expect(reads()).toEqual(paths.map(() => formsUri));
});

test('a file is given with its type and its bytes, and as a text only if it is one', async () => {
  const bytes = Buffer.from([0xff, 0xfe]);
  const { host } = await before({
    files: {
      [formsUri]: { text: forms, mimeType: 'text/markdown' },
      'skill://pdf-processing/a': { blob: bytes.toString('base64') },
    },
  });
  const dynamic = entry({ resources: 'dynamic' });
  expect(await host.skills.read(entry(), formsUri)).toStrictEqual({
    uri: formsUri,
    mimeType: 'text/markdown',
    bytes: new TextEncoder().encode(forms),
    text: forms,
    isVerified: true,
  });
  expect(await host.skills.read(dynamic, 'a')).toStrictEqual({
    uri: 'skill://pdf-processing/a',
    bytes: new Uint8Array(bytes),
    isVerified: false,
  });
});

test('a file of a dynamic skill has no more bytes than a skill may have', async () => {
  const text = 'x'.repeat(16 * 1024 * 1024 + 1);
  // By its own message it would be too long already, unless the host takes longer ones.
  const skills = serverSkills({
    name: 'hostile',
    capabilities: () => Promise.resolve({ extensions: { [extension]: {} } }),
    readResource: (uri) => Promise.resolve({ contents: [{ uri, text }] }),
  } as Partial<SkillsHost> as SkillsHost);
  expect(await codeOf(skills.read(entry({ resources: 'dynamic' }), 'a'))).toContain(
    'UNVERIFIED: "skill://pdf-processing/a" must have at most 16777216 bytes',
  );
});

test('what a SKILL.md says of itself is compared to the last, whatever its order', async () => {
  const said = (yaml: string) => manifest.replace('---\n\n', `metadata: ${yaml}\n---\n\n`);
  const refused = async (yaml: string, metadata: unknown): Promise<string> => {
    const { host } = await before({ files: { [manifestUri]: { text: said(yaml) } } });
    const frontmatter = { ...entry().frontmatter, metadata };
    return await host.skills.read(entry({ frontmatter, resources: 'dynamic' })).then(
      () => 'taken',
      (error: Error) => error.message,
    );
  };
  expect(await refused('{a: 1, b: [{c: 2}]}', { b: [{ c: 2 }], a: 1 })).toBe('taken');
  const others: readonly (readonly [string, unknown])[] = [
    ['{a: 1, b: [{c: 2}]}', { a: 1, b: [{ c: 3 }] }],
    ['{a: 1}', { b: 1 }],
    ['{a: 1}', { a: 1, b: 1 }],
    ['{a: 1, b: 1}', { a: 1 }],
    ['[x]', { 0: 'x' }],
    ['{}', 7],
    ['7', {}],
    ['{a: null}', { b: null }],
  ];
  for (const [yaml, metadata] of others) {
    expect(await refused(yaml, metadata)).toContain('differs from its entry in "metadata"');
  }
});

describe('a SKILL.md is refused', () => {
  const tampered: { readonly [what: string]: readonly [object, JsonObject, string] } = {
    'with another digest [sep-2640-host-verify-digest]': [
      { text: manifest.replace('Skill body.', 'Evil body!!') },
      {},
      'does not match the digest',
    ],
    'with more bytes [sep-2640-host-size-mismatch-failure]': [
      { text: `${manifest}extra bytes` },
      {},
      `must have ${manifest.length} bytes, got ${manifest.length + 11}`,
    ],
    'with fewer bytes': [{ text: manifest.slice(1) }, {}, 'bytes, got'],
    'that says something else of itself than the entry [sep-2640-host-frontmatter-comparison]': [
      { text: manifest },
      { frontmatter: { name: 'pdf-processing', description: 'Harmless' } },
      'differs from its entry in "description"',
    ],
    'that says more of itself than the entry': [
      { text: manifest },
      { frontmatter: { ...entry().frontmatter, license: 'MIT' } },
      'differs from its entry in "license"',
    ],
    'that came without contents': [{ text: undefined }, {}, 'was returned without contents'],
    'whose blob is no base64': [{ blob: '*' }, {}, 'was returned without contents'],
    'that came as another file': [{ uri: formsUri, text: manifest }, {}, 'without contents'],
  };

  test.each(Object.entries(tampered))('%s', async (_, [content, members, message]) => {
    const { host, reads } = await before({ files: { [manifestUri]: content } });
    const refused = await codeOf(host.skills.read(entry(members)));
    expect(refused).toContain('UNVERIFIED: ');
    expect(refused).toContain(message);
    expect(refused).toContain('skills/get');
    expect(reads()).toEqual([manifestUri]);
  });

  /** With the digest of what comes, only the frontmatter can be wrong. */
  const unreadable: { readonly [what: string]: readonly [string | Uint8Array, string] } = {
    'without frontmatter': ['# Body', 'must begin with a line ---'],
    'whose frontmatter does not end': ['---\nname: pdf-processing\n', 'must begin with'],
    'whose frontmatter is a list': ['---\n- a\n---\n', 'must be a mapping'],
    'whose frontmatter is empty': ['---\n---\n', 'must be a mapping'],
    'whose frontmatter is no YAML': ['---\n"\n---\n', 'not YAML'],
    'with a key twice': ['---\nname: a\nname: b\n---\n', 'not YAML'],
    'nested without end': [`---\na: ${'['.repeat(15_000)}\n---\n`, 'nested too deeply'],
    'nested without end, line by line': [`---\n${'- '.repeat(8_000)}x\n---\n`, 'nested too deeply'],
    'that grows without end': [
      `---\na: &a [x,x,x,x,x,x,x,x,x]\n${Array.from('bcdefghi')
        .map((key, n) => `${key}: &${key} [${Array(9).fill(`*${'abcdefgh'[n]}`).join()}]`)
        .join('\n')}\n---\n`,
      'not YAML',
    ],
    'whose aliases expand to a long text': [
      `---\na: &a ${'x'.repeat(8_000)}\nb: [${Array(15).fill('*a').join()}]\n---\n`,
      'with its aliases expanded',
    ],
    'with a long frontmatter': [`---\nname: ${'x'.repeat(17_000)}\n---\n`, 'within 16384'],
    'that is no text': [new Uint8Array([0xff, 0xfe]), 'is not UTF-8'],
    'that is another prototype': [
      '---\n__proto__: {}\nname: pdf-processing\ndescription: Extract, fill, and assemble PDF documents\n---\n',
      'differs from its entry in "__proto__"',
    ],
  };

  test.each(Object.entries(unreadable))('%s', async (_, [content, message]) => {
    const blob = Buffer.from(content).toString('base64');
    const { host } = await before({ files: { [manifestUri]: { blob } } });
    const skill = entry({ resources: [fileOf(manifestUri, content)] });
    expect(await codeOf(host.skills.read(skill))).toContain(message);
    const dynamic = entry({ resources: 'dynamic' });
    expect(await codeOf(host.skills.read(dynamic))).toContain(message);
  });
});

test('a SKILL.md may be written as YAML can be: only what it says counts', async () => {
  const text =
    '\uFEFF---   \r\n# remark\r\n"description": >-\r\n  Extract, fill, and\r\n  assemble PDF documents\r\nname: pdf-processing\r\n---\r\nBody';
  const { host } = await before({ files: { [manifestUri]: { text } } });
  const skill = entry({ resources: [fileOf(manifestUri, text)] });
  const read = await host.skills.read(skill);
  expect(read.text).toBe(text);
  expect(read.isVerified).toBe(true);
});

test('a frontmatter may be nested like other data', async () => {
  const nested = `${'['.repeat(31)}1${']'.repeat(31)}`;
  const text = manifest.replace('---\n\n', `deep: ${nested}\n---\n\n`);
  const frontmatter = { ...entry().frontmatter, deep: JSON.parse(nested) as unknown };
  const { host } = await before({ files: { [manifestUri]: { text } } });
  const skill = entry({ frontmatter, resources: [fileOf(manifestUri, text)] });
  expect(await host.skills.read(skill)).toMatchObject({ isVerified: true });
  const deeper = await before({
    files: { [manifestUri]: { text: text.replace(nested, `[${nested}]`) } },
  });
  const dynamic = entry({ frontmatter, resources: 'dynamic' });
  expect(await codeOf(deeper.host.skills.read(dynamic))).toContain('nested too deeply');
});

describe('a path that names no file of the skill asks the server nothing', () => {
  const paths = [
    'references/none.md',
    '../other/SKILL.md',
    'references/../../other/SKILL.md',
    '/etc/passwd',
    'file:///etc/passwd',
    'https://example.com/SKILL.md',
    'skill://other/SKILL.md',
    'skill://pdf-processing/../other/SKILL.md',
    'skill://pdf-processing/%2e%2e/other/SKILL.md',
    'skill://pdf-processing/references%2FFORMS.md',
    'skill://pdf-processing.evil/SKILL.md',
    'references\\..\\..\\x',
    'C:\\Windows',
    'references//FORMS.md',
    '%',
    '',
    '..',
    '.',
  ];

  test.each(paths)('%j', async (path) => {
    const { host, reads } = await before({});
    expect(await codeOf(host.skills.read(entry(), path))).toContain('is not a file of the skill');
    const isKnown = path === 'references/none.md' || path === '%';
    if (!isKnown) {
      const dynamic = entry({ resources: 'dynamic' });
      expect(await codeOf(host.skills.read(dynamic, path))).toContain('is not a file of the skill');
    }
    expect(reads()).toEqual([]);
  });
});

test('a dynamic skill is read unverified, within its bounds', async () => {
  const { host, reads } = await before({
    files: { 'skill://pdf-processing/any%20file.md': { text: 'any' } },
  });
  const dynamic = entry({ resources: 'dynamic' });
  expect(await host.skills.read(dynamic)).toMatchObject({ isVerified: false, text: manifest });
  expect(await host.skills.read(dynamic, 'any file.md')).toMatchObject({ text: 'any' });
  expect(reads()).toEqual([manifestUri, 'skill://pdf-processing/any%20file.md']);
});

describe('an entry is left out, told, and costs the others nothing', () => {
  const file = fileOf(manifestUri, manifest);
  const root = 'skill://pdf-processing';
  const wrong: { readonly [what: string]: readonly [unknown, string] } = {
    'that is no object': [7, 'must be an object'],
    'without a URI': [entry({ uri: undefined }), '"uri" must be'],
    'without a scheme': [entry({ uri: 'pdf-processing/SKILL.md' }), '"uri" must be'],
    'of another file': [entry({ uri: `${root}/README.md` }), '"uri" must end in'],
    'under another name': [entry({ uri: 'skill://other/SKILL.md' }), '/pdf-processing/SKILL.md'],
    'without frontmatter': [entry({ frontmatter: undefined }), '"frontmatter" must be an object'],
    'without a name': [entry({ frontmatter: { description: 'x' } }), '"name" must be'],
    'without a description': [
      entry({ frontmatter: { name: 'pdf-processing' } }),
      '"description" must be',
    ],
    'without resources': [entry({ resources: undefined }), '"resources" must be an array or'],
    'whose resources are a text': [
      entry({ resources: 'static' }),
      '"resources" must be an array or',
    ],
    'without its SKILL.md': [entry({ resources: [fileOf(formsUri, forms)] }), 'must have SKILL.md'],
    'with a file of another skill': [
      entry({ resources: [file, { ...file, uri: 'skill://other/SKILL.md' }] }),
      '"resources[1].uri" must be a file below skill://pdf-processing',
    ],
    'with a file above it': [
      entry({ resources: [file, { ...file, uri: `${root}/../x.md` }] }),
      '"resources[1].uri"',
    ],
    'with a file above it, encoded': [
      entry({ resources: [file, { ...file, uri: `${root}/%2E%2E/x.md` }] }),
      '"resources[1].uri"',
    ],
    'with a file whose name is a path': [
      entry({ resources: [file, { ...file, uri: `${root}/a%2F..%2F..%2Fx` }] }),
      '"resources[1].uri"',
    ],
    'with a query': [entry({ resources: [file, { ...file, uri: `${root}/a?b` }] }), 'resources[1]'],
    'with a file twice': [
      entry({ resources: [file, { ...file, uri: `${root}/SKILL%2Emd` }] }),
      'must be unique',
    ],
    'with a digest in capitals': [
      entry({ resources: [{ ...file, digest: file.digest.toUpperCase() }] }),
      '"resources[0].digest"',
    ],
    'without a size': [entry({ resources: [{ ...file, size: undefined }] }), '"resources[0].size"'],
    'with a negative size': [entry({ resources: [{ ...file, size: -1 }] }), '"resources[0].size"'],
    'with half a byte': [entry({ resources: [{ ...file, size: 0.5 }] }), '"resources[0].size"'],
    'with too many bytes': [
      entry({ resources: [{ ...file, size: 16 * 1024 * 1024 + 1 }] }),
      'at most 16777216 bytes',
    ],
    'with too many files': [
      entry({
        resources: Array.from({ length: 513 }, (_, n) => ({ ...file, uri: `${root}/${n}` })),
      }),
      'at most 512 files',
    ],
  };

  test.each(Object.entries(wrong))('%s', async (_, [bad, message]) => {
    const good = entry({
      uri: 'skill://a/pdf-processing/SKILL.md',
      resources: 'dynamic',
    });
    const { host, problems } = await before({ pages: { '': { skills: [bad, good] } }, got: bad });
    expect(await host.skills.list()).toEqual([good]);
    expect(problems.join()).toContain(message);
    expect(await codeOf(host.skills.get(manifestUri))).toContain('INVALID_RESPONSE');
    if (typeof bad !== 'object') return;
    await expect(host.skills.read(bad as ListedSkill)).rejects.toThrow(message);
  });
});

test('a skill at its bounds is taken', async () => {
  const size = (16 * 1024 * 1024) / 512;
  const resources = Array.from({ length: 512 }, (_, n) => ({
    ...fileOf(n === 0 ? manifestUri : `skill://pdf-processing/${n}`, ''),
    size,
  }));
  const { host } = await before({ pages: { '': { skills: [entry({ resources })] } } });
  expect(await host.skills.list()).toHaveLength(1);
});

test('all pages are asked for, a skill counts once, and no cursor goes on for ever', async () => {
  const page = (name: string, nextCursor?: string) => ({
    skills: [entry({ uri: `skill://${name}/pdf-processing/SKILL.md`, resources: 'dynamic' })],
    ...(nextCursor === undefined ? {} : { nextCursor }),
  });
  const { host, problems, transport } = await before({
    pages: { '': page('a', '1'), '1': page('b', '2'), '2': page('a', '1') },
  });
  const uris = (await host.skills.list()).map(({ uri }) => uri);
  expect(uris).toEqual(['a', 'b'].map((name) => `skill://${name}/pdf-processing/SKILL.md`));
  expect(problems.join()).toContain('must be new');
  expect(transport.methods().filter((method) => method === 'skills/list')).toHaveLength(3);
});

test('another skill than the one that was asked for is refused', async () => {
  const other = entry({ uri: 'skill://x/pdf-processing/SKILL.md', resources: 'dynamic' });
  const { host } = await before({ got: other });
  expect(await codeOf(host.skills.get(manifestUri))).toContain('skill://x/pdf-processing/SKILL.md');
  const none = await before({ got: null });
  expect(await codeOf(none.host.skills.get(manifestUri))).toContain(
    '"skill" must be an object, got null',
  );
});

test('a server that declares no skills is asked for none', async () => {
  const bare = await before({ capabilities: { resources: {} } });
  const asked = [
    bare.host.skills.list(),
    bare.host.skills.get(manifestUri),
    bare.host.skills.read(entry()),
    bare.host.skills.readDirectory('skill://pdf-processing'),
  ];
  for (const each of asked) {
    expect(await codeOf(each)).toMatch(/^CAPABILITY_MISSING: .* does not declare io\.[^ ]*$/);
  }
  const plain = await before({ capabilities: { resources: {}, extensions: { [extension]: {} } } });
  expect(await plain.host.skills.list()).toHaveLength(1);
  const refused = await codeOf(plain.host.skills.readDirectory('skill://pdf-processing'));
  expect(refused).toContain('directoryRead');
  for (const { transport } of [bare, plain]) {
    expect(transport.methods()).not.toContain('resources/directory/read');
  }
});
