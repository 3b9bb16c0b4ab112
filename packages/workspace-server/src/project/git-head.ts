/** Reads the checked-out branch or commit from `.git` without running git. */
import { basename, dirname, join, resolve } from 'node:path';
import { checkDirectory, contains } from 'mcp-actors/internal';
import { openInside } from 'mcp-actors/roots';
import type { Boundary } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import { readWhole } from '../text/read-text.ts';

export type GitHead =
  | { readonly kind: 'branch'; readonly branch: string; readonly repository: string }
  /** Detached head: a commit, a tag, or a rebase in progress. */
  | { readonly kind: 'detached'; readonly commit: string; readonly repository: string }
  | { readonly kind: 'unreadable'; readonly problem: string; readonly repository: string };

/** `.git` and `HEAD` files have one line. */
const maxFileBytes = 4096;
const maxConfigBytes = 64 * 1024;

/**
 * Reads the head of the repository that contains the boundary's base, or returns undefined without
 * a repository. Like git, searches parent directories, but only inside the boundary; `repository`
 * is the directory that has `.git`.
 *
 * Only files inside the boundary are read, with one exception: in a worktree or submodule, `.git`
 * is a file that points to the git directory. A git directory outside is read if it points back to
 * this worktree. File content is only returned in the form of a branch name or commit hash. Never
 * rejects because of the disk's content.
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
    // Most common case first: `.git` is a directory.
    const head =
      (await readSmall(boundary, join(dotGit, 'HEAD'))) ?? (await readLinked(boundary, dotGit));
    return head === undefined ? undefined : readHead(head, repository);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { kind: 'unreadable', problem: phrases[error.code ?? ''] ?? error.message, repository };
  }
}

/** Explanations of `openInside` errors; its own messages refer to a path passed to a tool. */
const phrases: { readonly [code: string]: string } = {
  OUTSIDE_ROOTS: '.git points outside the roots',
  NOT_A_FILE: '.git has no HEAD that is a regular file',
};

/** Reads a file inside the boundary: empty if too large, undefined if missing. */
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

/**
 * Reads `HEAD` in the directory that a `.git` file points to; undefined if there is no such file.
 */
async function readLinked(boundary: Boundary, dotGit: string): Promise<string | undefined> {
  const link = await readSmall(boundary, dotGit);
  if (link === undefined) return undefined;
  const target = link.startsWith('gitdir: ') ? link.slice('gitdir: '.length).trimEnd() : '';
  if (target === '' || /[\0\n]/.test(target)) {
    throw new ToolError('.git must be a directory or a file written by git', {
      code: 'NOT_A_REPOSITORY',
    });
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
 * Reads `HEAD` of a git directory outside the boundary. A project can write any path into `.git`,
 * but cannot write to the target, so the target must point back. All failures look the same, so
 * they do not reveal what exists outside.
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
    '.git points outside the roots, and not to a git directory that belongs to this worktree',
    { code: 'NOT_A_REPOSITORY' },
  );
}

/** Reads the back reference that `git worktree add` writes: the path of the worktree's `.git`. */
async function linkedWorktree(gitDirectory: Boundary): Promise<string | undefined> {
  const link = (await readSmall(gitDirectory, 'gitdir'))?.trimEnd();
  if (link === undefined || basename(link) !== '.git' || /[\0\n]/.test(link)) return undefined;
  return resolve(gitDirectory.base.path, dirname(link));
}

/** Reads the back reference of a submodule: `worktree` in the `core` section of `config`. */
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
    const problem = 'the repository uses the reftable format, which is not supported';
    return { kind: 'unreadable', problem, repository };
  }
  if (branch !== undefined && isBranchName(branch)) return { kind: 'branch', branch, repository };
  if (/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(head)) {
    return { kind: 'detached', commit: head, repository };
  }
  return { kind: 'unreadable', problem: '.git/HEAD must name a branch or a commit', repository };
}

const branchPrefix = 'ref: refs/heads/';

/** @see https://git-scm.com/docs/git-check-ref-format */
function isBranchName(name: string): boolean {
  const hasBadCharacter = /[\p{Cc} ~^:?*[\\]/u.test(name);
  const hasBadPart = /\.\.|@\{|\/\/|^[./]|[./]$|\/\.|\.lock(?:\/|$)/.test(name);
  return name !== '' && !hasBadCharacter && !hasBadPart;
}
