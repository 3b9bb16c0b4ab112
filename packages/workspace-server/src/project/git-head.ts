/** What is checked out, read from `.git` without running git. */
import { basename, dirname, join, resolve } from 'node:path';
import { checkDirectory, contains } from 'mcp-actors/internal';
import { openInside } from 'mcp-actors/roots';
import type { Boundary } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import { readWhole } from '../text/read-text.ts';

export type GitHead =
  | { readonly kind: 'branch'; readonly branch: string; readonly repository: string }
  /** A commit, a tag or the middle of a rebase: no branch is checked out. */
  | { readonly kind: 'detached'; readonly commit: string; readonly repository: string }
  | { readonly kind: 'unreadable'; readonly problem: string; readonly repository: string };

/** `.git` and `HEAD` are of one line. */
const maxFileBytes = 4096;
const maxConfigBytes = 64 * 1024;

/**
 * The head of the repository that the boundary's base lies in, or undefined if there is none. As
 * git does, it looks in the directories above too, as far as they are inside the boundary;
 * `repository` is the one that has `.git`.
 *
 * What is read lies inside the boundary, with one exception: `.git` of a worktree or a submodule is
 * a file that says where the rest is, and a place outside is read if it says in its turn that it
 * belongs to this worktree. Nothing of a file's content is given out unless it has the form of a
 * branch or a commit. Never rejects because of what is on the disk.
 */
export async function readGitHead(boundary: Boundary): Promise<GitHead | undefined> {
  let repository = boundary.base.path;
  while (boundary.directories.some(({ path }) => contains(path, repository))) {
    const head = await headOf(repository, boundary);
    if (head !== undefined) return head;
    if (dirname(repository) === repository) return undefined;
    repository = dirname(repository);
  }
  return undefined;
}

async function headOf(repository: string, boundary: Boundary): Promise<GitHead | undefined> {
  const dotGit = join(repository, '.git');
  try {
    // The usual case first: `.git` is a directory.
    const head =
      (await readSmall(boundary, join(dotGit, 'HEAD'))) ?? (await readLinked(boundary, dotGit));
    return head === undefined ? undefined : readHead(head, repository);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { kind: 'unreadable', problem: phrases[error.code ?? ''] ?? error.message, repository };
  }
}

/**
 * What the errors of `openInside` mean here; their own words are for a path that a tool was given.
 */
const phrases: { readonly [code: string]: string } = {
  OUTSIDE_ROOTS: '.git leads out of the roots',
  NOT_A_FILE: '.git holds no HEAD that is a regular file',
};

/** The text of a file inside: empty if it is too large, undefined if it does not exist. */
async function readSmall(
  boundary: Boundary,
  path: string,
  maxBytes: number = maxFileBytes,
): Promise<string | undefined> {
  try {
    const { handle } = await openInside(boundary, path);
    try {
      return (await readWhole(handle, maxBytes)) ?? '';
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof ToolError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

/** `HEAD` in the directory that the file `.git` names; undefined if there is no such file. */
async function readLinked(boundary: Boundary, dotGit: string): Promise<string | undefined> {
  const link = await readSmall(boundary, dotGit);
  if (link === undefined) return undefined;
  const target = link.startsWith('gitdir: ') ? link.slice('gitdir: '.length).trimEnd() : '';
  if (target === '' || /[\0\n]/.test(target)) {
    throw new ToolError('.git has no form that git writes', { code: 'NOT_A_REPOSITORY' });
  }
  const gitDirectory = resolve(dirname(dotGit), target);
  try {
    return (await readSmall(boundary, join(gitDirectory, 'HEAD'))) ?? '';
  } catch (error) {
    if (!(error instanceof ToolError && error.code === 'OUTSIDE_ROOTS')) throw error;
    return await readOutside(gitDirectory, dirname(dotGit));
  }
}

/**
 * `HEAD` of a git directory outside the boundary: a project can write any path into `.git`, but not
 * into the place to which the path leads. The answer to any fault there is the same, so that it
 * does not tell what exists.
 */
async function readOutside(gitDirectory: string, repository: string): Promise<string> {
  const check = await checkDirectory(gitDirectory);
  if (check.ok) {
    const only: Boundary = { directories: [check], base: check };
    try {
      const worktree = (await linkedWorktree(only)) ?? (await configuredWorktree(only));
      const named = worktree === undefined ? undefined : await checkDirectory(worktree);
      const head = await readSmall(only, 'HEAD');
      if (named?.ok && named.path === repository && head !== undefined) return head;
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
    }
  }
  throw new ToolError(
    '.git leads out of the roots, and not to a git directory that belongs to this worktree',
    { code: 'NOT_A_REPOSITORY' },
  );
}

/** What `git worktree add` writes: the path of the worktree's `.git`. */
async function linkedWorktree(gitDirectory: Boundary): Promise<string | undefined> {
  const link = (await readSmall(gitDirectory, 'gitdir'))?.trimEnd();
  if (link === undefined || basename(link) !== '.git' || /[\0\n]/.test(link)) return undefined;
  return resolve(gitDirectory.base.path, dirname(link));
}

/** What git writes for a submodule: `worktree` in the section `core` of `config`. */
async function configuredWorktree(gitDirectory: Boundary): Promise<string | undefined> {
  const config = (await readSmall(gitDirectory, 'config', maxConfigBytes)) ?? '';
  let section = '';
  for (const line of config.split('\n').map((text) => text.trim())) {
    if (line.startsWith('[')) section = line;
    if (section !== '[core]' || !/^worktree\s*=/.test(line) || line.includes('\0')) continue;
    return resolve(gitDirectory.base.path, line.slice(line.indexOf('=') + 1).trim());
  }
  return undefined;
}

function readHead(content: string, repository: string): GitHead {
  const head = content.trim();
  const branch = head.startsWith(branchPrefix) ? head.slice(branchPrefix.length) : undefined;
  if (branch === '.invalid') {
    const problem = 'the repository keeps its references in the reftable format';
    return { kind: 'unreadable', problem, repository };
  }
  if (branch !== undefined && isBranchName(branch)) return { kind: 'branch', branch, repository };
  if (/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(head)) {
    return { kind: 'detached', commit: head, repository };
  }
  return { kind: 'unreadable', problem: '.git/HEAD has no form that git writes', repository };
}

const branchPrefix = 'ref: refs/heads/';

/** @see https://git-scm.com/docs/git-check-ref-format */
function isBranchName(name: string): boolean {
  const hasBadCharacter = /[\p{Cc} ~^:?*[\\]/u.test(name);
  const hasBadPart = /\.\.|@\{|\/\/|^[./]|[./]$|\/\.|\.lock(?:\/|$)/.test(name);
  return name !== '' && !hasBadCharacter && !hasBadPart;
}
