/** Skills that lie in a directory: what is found, what is left out and told, and what stays outside. */
import { mkdir, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createMcpServer } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { skillsFrom } from 'mcp-actors/skills';
import { testClient } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { makeNamedPipe } from '../../roots/test/named-pipe.ts';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';

const manifest = (name: string, more = '') =>
  `---\nname: ${name}\ndescription: About ${name}\n${more}---\n# ${name}\n`;

/** Frontmatter of one text and as many aliases of it. */
const aliased = (length: number, count: number) =>
  `metadata:\n  text: &text ${'x'.repeat(length)}\n  all: [${'*text, '.repeat(count)}]\n`;

async function served(files: { readonly [path: string]: string | Uint8Array }) {
  const outside = await temporaryDirectory({ 'secret.md': 'secret', 'in/skills/.keep': '' });
  const directory = join(outside, 'in', 'skills');
  for (const [path, content] of Object.entries(files)) {
    const file = join(directory, path);
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, content);
  }
  const problems: string[] = [];
  const skills = skillsFrom(directory, { onProblem: (problem) => problems.push(problem) });
  const client = await testClient(createMcpServer({ name: 'n', version: '1', skills }));
  const list = async () => {
    const listed = (await client.request('skills/list')) as {
      skills: {
        uri: string;
        frontmatter: JsonObject;
        resources: { uri: string; digest: string; size: number }[];
      }[];
    };
    return listed.skills;
  };
  const uris = async () => (await list()).map(({ uri }) => uri);
  const read = async (uri: string) => {
    const { contents } = (await client.request('resources/read', { uri })) as {
      contents: JsonObject[];
    };
    return contents[0];
  };
  return { directory, outside, problems, list, uris, read, client };
}

test('finds skills at any depth, also nested', async () => {
  const { list, problems, read } = await served({
    'git/SKILL.md': manifest('git', 'metadata: { version: "1.0" }\n'),
    'git/scripts/run.sh': 'true',
    'git/.DS_Store': 'x',
    'git/seal.bin': new Uint8Array([0xff, 0]),
    'acme/billing/refunds/SKILL.md': manifest('refunds'),
    'acme/billing/refunds/nested/deep/SKILL.md': manifest('deep'),
    'acme/README.md': 'no file of a skill',
  });
  const skills = await list();
  expect(problems).toEqual([]);
  const root = 'skill://acme/billing/refunds';
  expect(skills.map(({ uri, resources }) => [uri, resources.map((file) => file.uri)])).toEqual([
    [`${root}/SKILL.md`, [`${root}/SKILL.md`, `${root}/nested/deep/SKILL.md`]],
    [`${root}/nested/deep/SKILL.md`, [`${root}/nested/deep/SKILL.md`]],
    [
      'skill://git/SKILL.md',
      ['SKILL.md', 'scripts/run.sh', 'seal.bin'].map((path) => `skill://git/${path}`),
    ],
  ]);
  expect(skills[2]?.frontmatter).toEqual({
    name: 'git',
    description: 'About git',
    metadata: { version: '1.0' },
  });
  expect(await read('skill://git/scripts/run.sh')).toMatchObject({ text: 'true' });
  expect(await read('skill://git/seal.bin')).toMatchObject({ blob: '/wA=' });
});

test('detects changed, new and removed skills on each request', async () => {
  const { directory, list, read, uris } = await served({
    'git/SKILL.md': manifest('git'),
    'git/a.md': 'one',
    'old/SKILL.md': manifest('old'),
  });
  const [before] = await list();
  await writeFile(join(directory, 'git/a.md'), 'two');
  await mkdir(join(directory, 'new'));
  await writeFile(join(directory, 'new/SKILL.md'), manifest('new'));
  await rm(join(directory, 'old'), { recursive: true });
  const [after] = await list();
  expect(after?.resources[0]).toEqual(before?.resources[0]);
  expect(after?.resources[1]?.digest).not.toBe(before?.resources[1]?.digest);
  expect(await read('skill://git/a.md')).toMatchObject({ text: 'two' });
  expect(await uris()).toEqual(['skill://git/SKILL.md', 'skill://new/SKILL.md']);
  // The same size at the same time: the system's own note of the change tells.
  await utimes(join(directory, 'git/a.md'), 1, 1);
  const [touched] = await list();
  await writeFile(join(directory, 'git/a.md'), '2.0');
  await utimes(join(directory, 'git/a.md'), 1, 1);
  expect((await list())[0]?.resources[1]?.digest).not.toBe(touched?.resources[1]?.digest);
});

test('expands aliases in the frontmatter', async () => {
  const { list, problems } = await served({ 'git/SKILL.md': manifest('git', aliased(8, 3)) });
  const text = 'x'.repeat(8);
  expect((await list())[0]?.frontmatter).toMatchObject({
    metadata: { text, all: [text, text, text] },
  });
  expect(problems).toEqual([]);
});

describe('skips an invalid skill and reports it once', () => {
  const good = { 'good/SKILL.md': manifest('good') };
  const bad: {
    readonly [what: string]: readonly [{ readonly [path: string]: string | Uint8Array }, string];
  } = {
    'without frontmatter': [{ 'bad/SKILL.md': '# Bad' }, 'must begin with a line ---'],
    'with another name than its directory': [
      { 'bad/SKILL.md': manifest('other') },
      '/other/SKILL.md',
    ],
    'with a name that is none': [{ 'Bad/SKILL.md': manifest('Bad') }, '"name" must be'],
    'without a description': [{ 'bad/SKILL.md': '---\nname: bad\n---\n' }, '"description"'],
    'that is no YAML': [{ 'bad/SKILL.md': '---\n"\n---\n' }, 'not YAML'],
    'whose aliases expand to a long text': [
      { 'bad/SKILL.md': manifest('bad', aliased(8_000, 15)) },
      'at most 32768 characters with its aliases expanded, got 128',
    ],
    'with too many aliases': [{ 'bad/SKILL.md': manifest('bad', aliased(8, 300)) }, 'alias count'],
    'whose aliases multiply': [
      {
        'bad/SKILL.md': manifest(
          'bad',
          'a: &a [x]\nb: &b [*a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b]\n',
        ),
      },
      'alias count',
    ],
    'that is no text': [{ 'bad/SKILL.md': new Uint8Array([0xff]) }, 'must be UTF-8'],
    'in no directory of its own': [
      { 'SKILL.md': manifest('skills') },
      'must be in a directory of its own',
    ],
    'with too many files': [
      Object.fromEntries([
        ['bad/SKILL.md', manifest('bad')],
        ...Array.from({ length: 512 }, (_, n) => [`bad/${n}`, '']),
      ]),
      'more than 512 files',
    ],
    'with a large file': [
      { 'bad/SKILL.md': manifest('bad'), 'bad/large': new Uint8Array(16 * 1024 * 1024 + 1) },
      'more than 16777216 bytes',
    ],
    'with too many bytes': [
      { 'bad/SKILL.md': manifest('bad'), 'bad/large': new Uint8Array(16 * 1024 * 1024) },
      'or 16777216 bytes',
    ],
  };

  test.each(Object.entries(bad))('%s', async (_, [files, message]) => {
    const { uris, problems } = await served({ ...good, ...files });
    expect(await uris()).toEqual(['skill://good/SKILL.md']);
    expect(await uris()).toEqual(['skill://good/SKILL.md']);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
  });
});

test('follows links only inside the directory', async () => {
  const { directory, outside, problems, list, uris } = await served({
    'git/SKILL.md': manifest('git'),
    'shared/note.md': 'shared',
  });
  await symlink('../shared/note.md', join(directory, 'git/note.md'));
  await symlink('../shared', join(directory, 'git/all'));
  expect((await list())[0]?.resources.map(({ uri }) => uri)).toEqual([
    'skill://git/SKILL.md',
    'skill://git/all/note.md',
    'skill://git/note.md',
  ]);
  for (const target of [join(outside, 'secret.md'), '../../../secret.md', outside, '../nothing']) {
    await symlink(target, join(directory, 'git/link'));
    expect(await uris()).toEqual([]);
    expect(problems.pop()).toMatch(/git\/link .*(outside|cannot be followed)/);
    await rm(join(directory, 'git/link'));
    expect(await uris()).toEqual(['skill://git/SKILL.md']);
  }
  // Directories in a ring end somewhere.
  await symlink('..', join(directory, 'git/ring'));
  expect(await uris()).toEqual([]);
  expect(problems.pop()).toContain('more than 16 directories deep');
});

test('does not read a file that became a link out after listing', async () => {
  const { directory, outside, list, read } = await served({
    'git/SKILL.md': manifest('git'),
    'git/a.md': 'one',
  });
  expect(await list()).toHaveLength(1);
  await rm(join(directory, 'git/a.md'));
  await symlink(join(outside, 'secret.md'), join(directory, 'git/a.md'));
  await expect(read('skill://git/a.md')).rejects.toThrow();
  await expect(read('skill://git/../../secret.md')).rejects.toThrow();
  await expect(read('skill://git/%2e%2e/%2e%2e/%2e%2e/secret.md')).rejects.toThrow();
});

test('skips a skill with a special file without blocking', async (context) => {
  if (process.platform === 'win32') context.skip('there are no pipes with a path');
  const { directory, uris, problems } = await served({ 'git/SKILL.md': manifest('git') });
  makeNamedPipe(join(directory, 'git/pipe'));
  expect(await uris()).toEqual([]);
  expect(problems.join()).toContain('git/pipe is neither a file nor a directory');
});

test('limits the bytes and files of a directory', async () => {
  const { directory, uris, problems, read } = await served({
    ...Object.fromEntries(
      ['a', 'b', 'c', 'd', 'e'].map((name) => [`${name}/SKILL.md`, manifest(name)]),
    ),
    'a/large.txt': 'x'.repeat(1_500_000),
  });
  expect(await read('skill://a/large.txt')).toMatchObject({ mimeType: 'text/plain' });
  for (const name of ['b', 'c', 'd', 'e']) {
    const file = join(directory, name, 'sparse');
    await writeFile(file, '');
    await truncate(file, 16 * 1024 * 1024 - 100);
  }
  expect(await uris()).toEqual(['a', 'b', 'c', 'd'].map((name) => `skill://${name}/SKILL.md`));
  expect(problems.pop()).toContain('all files together more than 67108864');
  for (const name of ['b', 'c', 'd', 'e']) await rm(join(directory, name, 'sparse'));
  // 20 links to 20 links to 30 files, which are 12,000.
  const fan = async (path: string, count: number, target: string) => {
    await mkdir(join(directory, path));
    for (let n = 0; n < count; n++) await symlink(target, join(directory, path, `${n}`));
  };
  await mkdir(join(directory, 'x'));
  for (let n = 0; n < 30; n++) await writeFile(join(directory, 'x', `${n}`), '');
  await fan('w', 20, '../x');
  await fan('b/many', 20, '../../w');
  expect(await uris()).toEqual(['skill://a/SKILL.md']);
  expect(problems.join()).toContain('more than 10000 files');
});

test("reports a missing directory as the server's error", async () => {
  const { directory, client } = await served({});
  await rm(directory, { recursive: true });
  await expect(client.request('skills/list')).rejects.toThrow(/-32603/);
  expect((await client.facts.next('handler.failed')).message).toContain(directory);
});
