/**
 * Evaluates git's ignore rules for a path: `.gitignore` files, `.git/info/exclude` and the user's
 * global file.
 *
 * Ripgrep expands `{a,b}` in rules whereas git takes braces literally. Ripgrep's verdict stands
 * unless a brace is involved; this module decides the rest.
 */
import { constants } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { disk } from 'mcp-actors/internal';
import { compileRules } from '../globs/glob.ts';
import type { PathMatcher } from '../globs/path-automaton.ts';
import { isSliceOver, nextSlice } from '../globs/time-slices.ts';

/** Verdict of the last matching rule; undefined if none matches. */
export type GitVerdict = 'ignored' | 'included' | undefined;

/** Consecutive rules of a file with the same verdict. */
interface RuleGroup {
  readonly verdict: GitVerdict;
  readonly isForDirectories: boolean;
  readonly matches: PathMatcher;
}

interface AppliedFile {
  readonly path: string;
  /** Directory that the rules are relative to. */
  readonly base: string;
}

/** The same limit ripgrep gets for all files that apply to one directory. */
const maxBytes = 64 * 1024;

/** Cache size for directories known to contain a repository or not. */
const maxRepositories = 10_000;

export class GitRules {
  readonly #root: string;
  readonly #signal: AbortSignal;
  readonly #files = new Set<string>();
  /** The user's global file, and the exclude file of a worktree with an external git directory. */
  readonly #shared = new Set<string>();
  /** Rule groups of files above the last path, by file path; last group first. */
  readonly #groups = new Map<string, readonly RuleGroup[]>();
  readonly #repositories = new Map<string, boolean>();

  /** @param root base of relative paths */
  constructor(root: string, signal: AbortSignal) {
    this.#root = root;
    this.#signal = signal;
  }

  /** Adds a rule file opened by ripgrep, ignoring files in ripgrep's own format. */
  add(path: string): void {
    if (/^\.(?:rg)?ignore$/.test(basename(path))) return;
    const real = resolve(this.#root, path);
    this.#files.add(real);
    if (!/[/\\]\.git(?:ignore|[/\\]info[/\\]exclude)$/.test(real)) this.#shared.add(real);
  }

  /**
   * Returns git's verdict for a path whose parent directory is not ignored.
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

  /** Rule files for the entries of a directory, strongest first. */
  async #filesFor(directory: string): Promise<readonly AppliedFile[]> {
    const files: AppliedFile[] = [];
    let base = directory;
    for (; ; base = dirname(base)) {
      files.push({ path: join(base, '.gitignore'), base });
      // Rules above the repository do not apply.
      if (base === dirname(base) || (await this.#isRepository(base))) break;
    }
    files.push({ path: join(base, '.git/info/exclude'), base });
    const known = files.filter(({ path }) => this.#files.has(path));
    // The user's global file has the lowest precedence.
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

/** Stats of a path without following links; undefined if missing. */
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
    // Removed in the meantime.
    if (code === 'NOT_FOUND' || code === 'NOT_A_DIRECTORY') return '';
    throw error;
  }
}

/** Parses a rule file into groups, last group first. */
async function groupsIn(text: string, signal: AbortSignal): Promise<readonly RuleGroup[]> {
  const groups: { readonly rule: Rule; readonly globs: string[] }[] = [];
  for (const line of text.replace(/^\ufeff/, '').split('\n')) {
    const rule = readRule(line);
    if (rule === undefined) continue;
    const last = groups.at(-1);
    if (last === undefined || !hasSameVerdict(rule, last.rule))
      groups.push({ rule, globs: [rule.glob] });
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

function hasSameVerdict(one: Rule, other: Rule): boolean {
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
