/** Braces in git's ignore rules, compared with git itself. */
import { execFile } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { everythingBelow } from '../src/globs/file-selection.ts';
import { byPath } from '../src/search/path-order.ts';
import { walkTree } from '../src/search/tree-walk.ts';
import { boundaryAt } from '../../roots/test/root-at.ts';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';
import type { Files } from '../../roots/test/temporary-directory.ts';
import { found, searchProject } from './tools/search-project.ts';

const run = promisify(execFile);
const never = new AbortController().signal;

async function walk(cwd: string, path = '', hidden = true) {
  return await walkTree({
    boundary: boundaryAt(cwd),
    selection: everythingBelow(path),
    hidden,
    ignored: false,
    lists: 'files',
    order: byPath,
    from: undefined,
    signal: never,
    deadline: never,
    onProblem: (problem) => expect.fail(problem),
  });
}

/** Files that git would add. */
async function filesOfGit(cwd: string): Promise<readonly string[]> {
  const args = ['ls-files', '--others', '--exclude-standard', '-z'];
  const { stdout } = await run('git', args, { cwd });
  return stdout.split('\0').filter(Boolean).sort();
}

async function repository(files: Files): Promise<string> {
  const cwd = await temporaryDirectory(files);
  await run('git', ['init', '--quiet'], { cwd });
  return cwd;
}

const trees: Record<string, Files> = {
  'a rule with braces': {
    '.gitignore': '*.{log,tmp}\n',
    'a.log': '',
    'sub/b.tmp': '',
    'x.{log,tmp}': '',
    'sub/y.{log,tmp}': '',
    'c.txt': '',
  },
  'a directory that only ripgrep ignores': {
    '.gitignore': '{src,lib}/\n*.o\n',
    'src/a.ts': '',
    'src/a.o': '',
    'src/.gitignore': 'out\n*.{a,b}\n!keep.o\n',
    'src/out/x': '',
    'src/keep.o': '',
    'src/deep/lib/y.a': '',
    'lib/z.o': '',
    'other/src/a.ts': '',
  },
  'a directory whose name has braces': {
    '.gitignore': '{{cookiecutter.name}}/build/\n/a{b,c}/\n',
    '{{cookiecutter.name}}/build/x': '',
    '{{cookiecutter.name}}/src/y': '',
    'cookiecutter.name/build/x': '',
    'a{b,c}/x': '',
    'ab/x': '',
    'sub/a{b,c}/x': '',
  },
  'a rule that includes': {
    '.gitignore': '*.log\n!*.{log,txt}\n!keep.log\nout/*\n!out/{a,b}\n',
    'a.log': '',
    'keep.log': '',
    'x.{log,txt}': '',
    'out/a': '',
    'out/b/c': '',
    'out/{a,b}/d': '',
  },
  'a weaker rule behind the one with braces': {
    '.gitignore': '*.tmp\ncache*/\n!/keep/*.tmp\n',
    'sub/.gitignore': '*.{tmp,log}\n{cache1,cache2}\n!*.{x,y}\n',
    'sub/a.tmp': '',
    'sub/a.log': '',
    'sub/cache1/x': '',
    'sub/deep/cache2': '',
    'keep/a.tmp': '',
    'a.tmp': '',
  },
  'escaped braces, classes and comments': {
    '.gitignore': '#{a,b}\n\\#{c}\n*.\\{a,b\\}\n[{]x[}]\n*.{d\\ ,e}  \n\\!{f,g}\n{open\nclosed}\n',
    '#{a,b}': '',
    '#{c}': '',
    '#c': '',
    'x.{a,b}': '',
    'x.a': '',
    '{x}': '',
    'x.{d ,e}': '',
    'x.e': '',
    '!{f,g}': '',
    '!f': '',
    '{open': '',
    'closed}': '',
  },
  'ignored directories with braces, whose files ripgrep hides too': {
    '.gitignore': '*.{a,b}\n{b,c}\n',
    'x.{a,b}/b': '',
    'sub/x.{a,b}/c/d': '',
    'sub/b': '',
  },
  'stars over directories': {
    '.gitignore': '**/{a,b}/**\n/docs/**/*.{md,txt}\n{x,y}/z\n',
    'a/b/c': '',
    'deep/{a,b}/c/d': '',
    'docs/a.md': '',
    'docs/deep/b.txt': '',
    'docs/deep/c.{md,txt}': '',
    'x/z': '',
    '{x,y}/z': '',
    'sub/{x,y}/z': '',
  },
};

describe.each(Object.entries(trees))('%s', (_, files) => {
  test('lists the same files as git', async () => {
    const cwd = await repository(files);
    expect((await walk(cwd)).paths.toSorted()).toEqual(await filesOfGit(cwd));
    expect((await walk(cwd)).total).toBe((await filesOfGit(cwd)).length);
  });
});

test('applies rules of the repository, the user and directories above the root', async () => {
  const home = await temporaryDirectory({ 'git/ignore': '*.{u,v}\n*.w\n' });
  vi.stubEnv('XDG_CONFIG_HOME', home);
  onTestFinished(() => void vi.unstubAllEnvs());
  const cwd = await repository({
    '.gitignore': 'sub/*.{a,b}\n*.c\n',
    'sub/.gitignore': '*.{c,d,w}\n',
    ...Object.fromEntries('abcduvw'.split('').map((end) => [`sub/x.${end}`, ''])),
    'sub/x.{a,b}': '',
    'sub/x.{u,v}': '',
    'sub/x.{i,j}': '',
    'sub/x.i': '',
  });
  await writeFile(join(cwd, '.git/info/exclude'), '*.{i,j}\n');
  const sub = join(cwd, 'sub');
  expect((await walk(sub)).paths.toSorted()).toEqual(await filesOfGit(sub));
});

test('skips a rule above the root that ripgrep cannot parse', async () => {
  const cwd = await repository({
    '.gitignore': '{open\n[a\n*.o\n',
    'sub/x.o': '',
    'sub/{open': '',
  });
  expect((await walk(join(cwd, 'sub'))).paths).toEqual([]);
});

test('treats braces as alternatives in .ignore', async () => {
  const cwd = await repository({ '.ignore': '*.{log,tmp}\n', 'a.log': '', 'x.{log,tmp}': '' });
  expect((await walk(cwd)).paths).toEqual(['.ignore', 'x.{log,tmp}']);
});

test('counts hidden files as hidden, and follows links, where only ripgrep ignores them', async () => {
  const cwd = await repository({
    '.gitignore': '*.{env,ln}\n!.{github,vscode}\n',
    '.a.env': '',
    '.github/x': '',
    'real/b': '',
  });
  await symlink('real/b', join(cwd, 'c.ln'));
  const { paths, omitted } = await walk(cwd, '', false);
  expect(paths).toEqual(['real/b']);
  expect(omitted.has('hidden', '.a.env')).toBe(true);
  expect(omitted.has('hidden', '.github')).toBe(true);
  expect(omitted.has('ignored', 'c.ln')).toBe(false);
});

test('lists a git-ignored directory named by a call', async () => {
  const cwd = await repository({ '.gitignore': '{{x}}/\n', '{{x}}/a': '', b: '' });
  expect((await walk(cwd)).paths).toEqual(['.gitignore', 'b']);
  expect((await walk(cwd, '{{x}}')).paths).toEqual(['{{x}}/a']);
});

test('searches files that ripgrep ignores but git does not', async () => {
  const files = { '.gitignore': '*.{log,tmp}\n', 'a.log': 'needle', 'x.{log,tmp}': 'needle' };
  const { search } = await searchProject(files);
  expect(await found(search({ pattern: 'needle' }))).toEqual(['a.log:1']);
});
