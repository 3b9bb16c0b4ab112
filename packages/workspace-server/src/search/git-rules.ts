/**
 * The rules of git that apply to a path: `.gitignore` files, `.git/info/exclude` and the user's own file.
 *
 * ripgrep expands `{a,b}` in them, and git takes braces literally. So ripgrep's verdict stands unless a brace is
 * involved, and these rules decide the rest.
 */
import { constants } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { disk } from 'mcp-actors/internal';
import { compileRules } from '../globs/glob.ts';
import type { PathMatcher } from '../globs/path-automaton.ts';
import { isSliceOver, nextSlice } from '../globs/time-slices.ts';

/** The last rule of a path that matches; undefined if none does. */
export type GitVerdict = 'ignored' | 'included' | undefined;

/** Neighbouring rules of one file that have the same verdict. */
interface RuleGroup {
  readonly verdict: GitVerdict;
  readonly isForDirectories: boolean;
  readonly matches: PathMatcher;
}

interface AppliedFile {
  readonly path: string;
  /** The directory to which its rules are relative. */
  readonly base: string;
}

/** ripgrep reads no more of all files that apply to one directory. */
const maxBytes = 64 * 1024;

/** Size of the cache of directories that do or do not hold a repository. */
const maxRepositories = 10_000;

export class GitRules {
  readonly #root: string;
  readonly #signal: AbortSignal;
  readonly #files = new Set<string>();
  /** The user's own file, and that of a worktree, whose git directory is elsewhere. */
  readonly #shared = new Set<string>();
  /** Of files above the last path, by their own path; each the last group first. */
  readonly #groups = new Map<string, readonly RuleGroup[]>();
  readonly #repositories = new Map<string, boolean>();

  /** @param root base of relative paths */
  constructor(root: string, signal: AbortSignal) {
    this.#root = root;
    this.#signal = signal;
  }

  /** Adds a file of rules that ripgrep has opened; a file in ripgrep's own language does not count. */
  add(path: string): void {
    if (/^\.(?:rg)?ignore$/.test(basename(path))) return;
    const real = resolve(this.#root, path);
    this.#files.add(real);
    if (!/[/\\]\.git(?:ignore|[/\\]info[/\\]exclude)$/.test(real)) this.#shared.add(real);
  }

  /**
   * Git's verdict about a path in a directory that it does not ignore.
   *
   * @throws the signal's reason
   */
  async verdictOf(path: string, isDirectory: boolean): Promise<GitVerdict> {
    const real = resolve(this.#root, path);
    const files = await this.#filesFor(dirname(real));
    const paths = new Set(files.map((file) => file.path));
    for (const file of this.#groups.keys()) if (!paths.has(file)) this.#groups.delete(file);
    for (const file of files) {
      const below = relative(file.base, real).split(sep).join('/');
      for (const group of await this.#groupsOf(file.path)) {
        if (isSliceOver()) await nextSlice(this.#signal);
        if (!isDirectory && group.isForDirectories) continue;
        if (group.matches(below)) return group.verdict;
      }
    }
    return undefined;
  }

  /** Rules for the entries of a directory, strongest first. */
  async #filesFor(directory: string): Promise<readonly AppliedFile[]> {
    const files: AppliedFile[] = [];
    let base = directory;
    for (; ; base = dirname(base)) {
      files.push({ path: join(base, '.gitignore'), base });
      // Rules end at the repository's own directory.
      if (base === dirname(base) || (await this.#isRepository(base))) break;
    }
    files.push({ path: join(base, '.git/info/exclude'), base });
    const known = files.filter(({ path }) => this.#files.has(path));
    // The user's own file is the weakest.
    const isExclude = (path: string) => basename(path) === 'exclude';
    const shared = [...this.#shared].sort((one, other) => +isExclude(other) - +isExclude(one));
    return [...known, ...shared.map((path) => ({ path, base }))];
  }

  async #isRepository(directory: string): Promise<boolean> {
    const known = this.#repositories.get(directory);
    if (known !== undefined) return known;
    const is = (await statsOf(join(directory, '.git'))) !== undefined;
    if (this.#repositories.size === maxRepositories) this.#repositories.clear();
    this.#repositories.set(directory, is);
    return is;
  }

  async #groupsOf(path: string): Promise<readonly RuleGroup[]> {
    const known = this.#groups.get(path);
    if (known !== undefined) return known;
    const groups = await groupsIn(await readRules(path), this.#signal);
    this.#groups.set(path, groups);
    return groups;
  }
}

/** Stats of a path without following links; undefined if nothing is there. */
export async function statsOf(path: string) {
  try {
    return await disk.lstat(path);
  } catch (error) {
    const { code } = disk.describeFsError(error);
    if (code === 'NOT_FOUND' || code === 'NOT_A_DIRECTORY') return undefined;
    throw error;
  }
}

async function readRules(path: string): Promise<string> {
  try {
    const file = await disk.open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      if (!(await file.stat()).isFile()) return '';
      const buffer = Buffer.alloc(maxBytes);
      let size = 0;
      for (let read = -1; read !== 0 && size < maxBytes; size += read) {
        read = (await file.read(buffer, size, maxBytes - size, size)).bytesRead;
      }
      return buffer.toString('utf8', 0, size);
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code } = disk.describeFsError(error);
    // The file was removed meanwhile.
    if (code === 'NOT_FOUND' || code === 'NOT_A_DIRECTORY') return '';
    throw error;
  }
}

/** The groups of a file of rules, the last one first. */
async function groupsIn(text: string, signal: AbortSignal): Promise<readonly RuleGroup[]> {
  const groups: { readonly rule: Rule; readonly globs: string[] }[] = [];
  for (const line of text.replace(/^\ufeff/, '').split('\n')) {
    const rule = readRule(line);
    if (rule === undefined) continue;
    const last = groups.at(-1);
    if (last === undefined || !isAlike(rule, last.rule)) groups.push({ rule, globs: [rule.glob] });
    else last.globs.push(rule.glob);
  }
  const compiled: RuleGroup[] = [];
  for (const { rule, globs } of groups.toReversed()) {
    if (isSliceOver()) await nextSlice(signal);
    compiled.push({ ...rule, matches: compileRules(globs) });
  }
  return compiled;
}

interface Rule {
  readonly verdict: GitVerdict;
  readonly isForDirectories: boolean;
  readonly glob: string;
}

function isAlike(one: Rule, other: Rule): boolean {
  return one.verdict === other.verdict && one.isForDirectories === other.isForDirectories;
}

function readRule(line: string): Rule | undefined {
  let end = line.endsWith('\r') ? line.length - 1 : line.length;
  while (line[end - 1] === ' ' && line[end - 2] !== '\\') end -= 1;
  const isIncluding = line.startsWith('!');
  const glob = line.slice(isIncluding ? 1 : 0, end);
  if (glob === '' || line.startsWith('#')) return undefined;
  return {
    verdict: isIncluding ? 'included' : 'ignored',
    isForDirectories: glob.endsWith('/'),
    glob,
  };
}
