import { execFileSync } from 'node:child_process';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readGitHead } from '../src/project/git-head.ts';
import { readProjectFacts } from '../src/project/project-facts.ts';
import { makeNamedPipe } from '../../roots/test/named-pipe.ts';
import { boundaryAt, rootDirectory } from '../../roots/test/root-at.ts';
import { temporaryDirectory, writeFiles } from '../../roots/test/temporary-directory.ts';
import type { Files } from '../../roots/test/temporary-directory.ts';

function git(directory: string, ...args: readonly string[]): string {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
  return execFileSync('git', [...identity, ...args], {
    cwd: directory,
    encoding: 'utf8',
    stdio: 'pipe',
  }).trim();
}

async function repository(): Promise<string> {
  const directory = await temporaryDirectory({ 'main/a/b/': '' });
  const main = join(directory, 'main');
  git(main, 'init', '--initial-branch=feature/one');
  git(main, 'commit', '--allow-empty', '--message=first');
  return main;
}

const headAt = (path: string) => readGitHead(boundaryAt(path));

describe('git facts', () => {
  test('returns the branch, even of a repository above the base inside the roots', async () => {
    const main = await repository();
    const expected = { kind: 'branch', branch: 'feature/one', repository: main };
    expect(await headAt(main)).toEqual(expected);
    const directories = [rootDirectory(join(main, 'a/b')), rootDirectory(main)] as const;
    expect(await readGitHead({ directories, base: directories[0] })).toEqual(expected);
    expect(await headAt(join(main, 'a/b'))).toBeUndefined();
  });

  test('returns the commit of a detached head', async () => {
    const main = await repository();
    git(main, 'checkout', '--detach');
    const commit = git(main, 'rev-parse', 'HEAD');
    expect(await headAt(main)).toEqual({ kind: 'detached', commit, repository: main });
  });

  test.each([[[]], [['-c', 'worktree.useRelativePaths=true']]])(
    "returns a worktree's own branch with a git directory outside the roots (%j)",
    async (options) => {
      const main = await repository();
      const tree = join(main, '../tree');
      git(main, ...options, 'worktree', 'add', '-b', 'second', tree);
      expect(await headAt(tree)).toMatchObject({ kind: 'branch', branch: 'second' });
    },
  );

  test("returns a submodule's own branch with a git directory outside the roots", async () => {
    const main = await repository();
    const sub = join(main, '../other/sub');
    const other = await repository();
    execFileSync('mkdir', [join(main, '../other')]);
    git(join(main, '../other'), 'init', '--initial-branch=outer');
    const local = ['-c', 'protocol.file.allow=always'];
    git(join(main, '../other'), ...local, 'submodule', 'add', '-b', 'feature/one', other, 'sub');
    expect(await headAt(sub)).toMatchObject({ kind: 'branch', branch: 'feature/one' });
  });

  test('omits git without a repository', async () => {
    expect(await headAt(await temporaryDirectory())).toBeUndefined();
  });

  test.each<[string, Files]>([
    ['no HEAD', { '.git/': '' }],
    ['a HEAD of another format', { '.git/HEAD': 'root:x:0:0:root' }],
    ['a dangling link', { '.git': 'gitdir: /nowhere/at/all' }],
    ['a file without a link', { '.git': 'nonsense root:x' }],
    ['a link with a NUL', { '.git': 'gitdir: /root:x\0y' }],
    ['an oversized HEAD', { '.git/HEAD': `ref: refs/heads/${'x'.repeat(5000)}` }],
    ['reftable', { '.git/HEAD': 'ref: refs/heads/.invalid' }],
    ['a branch of two lines', { '.git/HEAD': 'ref: refs/heads/a\nroot:x' }],
    ['a branch with control characters', { '.git/HEAD': 'ref: refs/heads/a\u001b[2Jroot:x' }],
    ['a branch that climbs', { '.git/HEAD': 'ref: refs/heads/../root:x' }],
  ])('reports a repository with %s without its content', async (_, files) => {
    const head = await headAt(await temporaryDirectory(files));
    expect(head).toMatchObject({ kind: 'unreadable', problem: expect.any(String) });
    expect(JSON.stringify(head)).not.toContain('root:x');
  });

  test.each(['.git', '.git/HEAD'])('does not wait for a %s that is a pipe', async (path) => {
    const directory = await temporaryDirectory(path === '.git' ? {} : { '.git/': '' });
    makeNamedPipe(join(directory, path));
    expect(await headAt(directory)).toMatchObject({
      kind: 'unreadable',
      problem: '.git has no HEAD that is a regular file',
    });
  });
});

describe('a secret formatted like a commit', () => {
  const secret = '0123456789abcdef0123456789abcdef01234567';
  const unreadable = { kind: 'unreadable', problem: expect.stringContaining('outside the roots') };

  /** A directory with a secret, and a project beside it. */
  async function beside(files: Files = {}) {
    const base = await temporaryDirectory({ 'secrets/HEAD': secret, 'project/': '', ...files });
    return { secrets: join(base, 'secrets'), project: join(base, 'project') };
  }

  async function expectKept(project: string): Promise<void> {
    const head = await headAt(project);
    expect(head).toMatchObject(unreadable);
    expect(JSON.stringify(head)).not.toContain(secret);
  }

  test.each(['gitdir: ../secrets', 'gitdir: SECRETS'])(
    'does not read a secret through %j',
    async (link) => {
      const { secrets, project } = await beside();
      await writeFiles(project, { '.git': link.replace('SECRETS', secrets) });
      await expectKept(project);
    },
  );

  test.each(['.git', '.git/HEAD'])(
    'does not read a secret through a symbolic link at %s',
    async (path) => {
      const { secrets, project } = await beside(path === '.git' ? {} : { 'project/.git/': '' });
      const target = path === '.git' ? secrets : join(secrets, 'HEAD');
      await symlink(target, join(project, path));
      await expectKept(project);
    },
  );

  test.each<[string, Files]>([
    ['another worktree', { 'secrets/gitdir': '/elsewhere/.git' }],
    ['another file of this worktree', { 'secrets/gitdir': '../project/.other' }],
    ['another worktree in its config', { 'secrets/config': '[core]\n worktree = ../secrets\n' }],
    ['this one in another section', { 'secrets/config': '[x]\n worktree = ../project\n' }],
  ])('does not read a secret from a directory that points back to %s', async (_, files) => {
    const { project } = await beside({ ...files, 'project/.git': 'gitdir: ../secrets' });
    await expectKept(project);
  });

  test('does not read a secret through a link in a directory that points back to this worktree', async () => {
    const { secrets, project } = await beside({
      'git/gitdir': '../project/.git',
      'project/.git': 'gitdir: ../git',
    });
    await symlink(join(secrets, 'HEAD'), join(secrets, '../git/HEAD'));
    await expectKept(project);
  });

  test('reports an unreadable git directory like a missing one', async () => {
    const { project } = await beside({ 'project/.git': 'gitdir: ../nowhere' });
    await expectKept(project);
  });
});

async function scriptsOf(files: Files) {
  const base = await temporaryDirectory(files);
  return (await readProjectFacts(boundaryAt(base))).scripts;
}

async function namesIn(file: string, content: string): Promise<readonly string[]> {
  const [source] = await scriptsOf({ [file]: content });
  return source?.names ?? [];
}

describe('declared scripts', () => {
  test('reads scripts of package.json with and without a byte order mark', async () => {
    const content = '{"scripts":{"build":"tsc","test":"vitest"}}';
    for (const text of [content, `\uFEFF${content}`]) {
      expect(await scriptsOf({ 'package.json': text })).toEqual([
        {
          file: 'package.json',
          runner: 'npm run',
          names: ['build', 'test'],
        },
      ]);
    }
  });

  test('reads the targets of a Makefile', async () => {
    const makefile = `.PHONY: all
CC := gcc
FLAGS = -O2
URL ::= x
all: build test
build test: deps ## both
	echo recipe: not a target
%.o: %.c
	$(CC)
dist/app.js: src
install::
$(OUT): x
`;
    expect(await namesIn('Makefile', makefile)).toEqual([
      'all',
      'build',
      'test',
      'dist/app.js',
      'install',
    ]);
  });

  test('reads the recipes of a justfile', async () => {
    const justfile = `set shell := ["bash"]
version := "1:2"
alias b := build
build target='all': clean
    echo done: yes
@quiet:
_private:
clean:
`;
    expect(await namesIn('justfile', justfile)).toEqual(['build', 'quiet', 'clean']);
  });

  test('reads the tasks of deno.jsonc despite comments and trailing commas', async () => {
    const text = `{
  // "no": "comment"
  "tasks": { "dev": "deno run // main.ts", /* x */ "full": { "command": "a" }, },
}`;
    expect(await namesIn('deno.jsonc', text)).toEqual(['dev', 'full']);
  });

  test('reads scripts of composer.json and entry points of pyproject.toml', async () => {
    expect(
      await scriptsOf({
        'composer.json': '{"scripts":{"test":["a","b"]}}',
        'pyproject.toml':
          '[project]\nname = "x"\n[project.scripts]\nserve = "app:main"\n[tool.x]\ny = "z"\n',
      }),
    ).toEqual([
      {
        file: 'composer.json',
        runner: 'composer run',
        names: ['test'],
      },
      { file: 'pyproject.toml', runner: '', names: ['serve'] },
    ]);
  });

  test('reports a broken file as a problem without affecting others', async () => {
    const sources = await scriptsOf({
      'package.json': '{',
      'composer.json': '[]',
      'deno.json': '{"tasks":[]}',
      'makefile/': '',
      Makefile: 'all:\n',
    });
    expect(
      sources.map(({ file, names, problem }) => [file, names.length, problem !== undefined]),
    ).toEqual([
      ['package.json', 0, true],
      ['deno.json', 0, true],
      ['composer.json', 0, true],
      ['Makefile', 1, false],
    ]);
  });

  test('removes control characters of a broken file from the problem', async () => {
    const [source] = await scriptsOf({ 'package.json': '[\u001b[2J\u202e' });
    expect(source?.problem).toMatch(/\\u001b/);
    expect(source?.problem).not.toContain('\u001b');
  });

  test('does not read a file beyond the size limit', async () => {
    const [source] = await scriptsOf({
      'package.json': `{"scripts":{}}${' '.repeat(1024 * 1024)}`,
    });
    expect(source?.problem).toMatch(/larger/);
  });

  test("never fails because of a script file's content", async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const members = `"x":[{"toString":1}],"y":${deep},"z":[null,["a"]],"__proto__":"p","toString":"t"`;
    const [source] = await scriptsOf({ 'package.json': `{"scripts":{${members}}}` });
    expect(source).toEqual({
      file: 'package.json',
      runner: 'npm run',
      names: ['x', 'y', 'z', '__proto__', 'toString'],
    });
  });

  test('limits scripts in number, name length and total, with a note on the rest', async () => {
    const packageOf = (names: readonly string[]) =>
      JSON.stringify({ scripts: Object.fromEntries(names.map((name) => [name, 'c'])) });
    const many = Array.from({ length: 101 }, (_, index) => `${index}`.padStart(75, 's'));
    const sources = await scriptsOf({
      'package.json': packageOf(['a'.repeat(900_000), 'b'.repeat(200), 'c']),
      'deno.json': packageOf(many).replace('scripts', 'tasks'),
      'composer.json': packageOf(many),
    });
    expect(sources.map(({ names }) => names.length)).toEqual([2, 100, 3]);
    expect(sources.map(({ problem }) => problem?.split(':')[0])).toEqual([
      '2 of 3 scripts listed',
      '100 of 101 scripts listed',
      '3 of 101 scripts listed',
    ]);
    expect(JSON.stringify(sources).length).toBeLessThan(10_000);
  });

  test('does not follow a link out of the roots', async () => {
    const elsewhere = await temporaryDirectory({ 'package.json': '{"scripts":{"secret":"x"}}' });
    const base = await temporaryDirectory();
    await symlink(join(elsewhere, 'package.json'), join(base, 'package.json'));
    const { scripts } = await readProjectFacts(boundaryAt(base));
    expect(scripts).toEqual([
      {
        file: 'package.json',
        runner: 'npm run',
        names: [],
        problem: expect.stringContaining('outside'),
      },
    ]);
  });

  test('lists no scripts in a directory without script files', async () => {
    const base = await temporaryDirectory();
    await writeFiles(base, { 'package.json': '{"name":"x"}' });
    expect((await readProjectFacts(boundaryAt(base))).scripts).toEqual([]);
  });
});
