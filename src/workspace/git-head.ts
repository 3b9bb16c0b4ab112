/** What is checked out, read from `.git` without running git. */
import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fsFault, systemCode } from './fs-fault.ts';

export type GitHead =
  | { readonly kind: 'branch'; readonly branch: string; readonly repository: string }
  /** A commit, a tag or the middle of a rebase: no branch is checked out. */
  | { readonly kind: 'detached'; readonly commit: string; readonly repository: string }
  | { readonly kind: 'unreadable'; readonly problem: string; readonly repository: string };

/**
 * The head of the repository that `directory` lies in, or undefined where there is none. As git does, it looks in the directories
 * above too; `repository` is the one that has `.git`. In a worktree or a submodule `.git` is a file that says where the rest is.
 *
 * Nothing of a file's content is given out unless it has the form of a branch or a commit.
 */
export async function readGitHead(directory: string): Promise<GitHead | undefined> {
  for (let repository = directory; ; repository = dirname(repository)) {
    const dotGit = join(repository, '.git');
    try {
      const gitDirectory = (await stat(dotGit)).isDirectory() ? dotGit : await linked(dotGit);
      return readHead((await readSmall(join(gitDirectory, 'HEAD'))).trim(), repository);
    } catch (error) {
      if (systemCode(error) === undefined) throw error;
      const { code, phrase } = fsFault(error);
      const absent = code === 'NOT_FOUND' && !(await exists(dotGit));
      if (!absent) return { kind: 'unreadable', problem: `.git/HEAD ${phrase}`, repository };
    }
    if (dirname(repository) === repository) return undefined;
  }
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

async function linked(dotGit: string): Promise<string> {
  const target = /^gitdir: (.+?)\s*$/m.exec(await readSmall(dotGit))?.[1] ?? '.';
  return resolve(dirname(dotGit), target.replaceAll('\0', ''));
}

async function readSmall(path: string): Promise<string> {
  const stats = await stat(path);
  // Reading a pipe would wait for a writer for ever.
  if (!stats.isFile() || stats.size > 4096) return '';
  return await readFile(path, 'utf8');
}

function readHead(head: string, repository: string): GitHead {
  const branch = /^ref: refs\/heads\/(\S+)$/.exec(head)?.[1];
  if (branch === '.invalid') {
    const problem = 'the repository keeps its references in the reftable format';
    return { kind: 'unreadable', problem, repository };
  }
  if (branch !== undefined) return { kind: 'branch', branch, repository };
  if (/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(head)) {
    return { kind: 'detached', commit: head, repository };
  }
  return { kind: 'unreadable', problem: '.git/HEAD has no form that git writes', repository };
}
