/**
 * Walks a root: ripgrep lists the files its rules allow, and a directory scan finds the rest. Links
 * are followed inside the roots. Each file is reported once: under its own path if that is
 * selected, else under the first link to it.
 */
import type { Stats } from 'node:fs';
import { basename, resolve } from 'node:path';
import { disk, quoted } from 'mcp-actors/internal';
import type { Boundary } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import type { FileSelection } from '../globs/file-selection.ts';
import { isSliceOver, nextSlice } from '../globs/time-slices.ts';
import { scanDirectories } from './directory-scan.ts';
import { GitRules, statsOf } from './git-rules.ts';
import { OmittedPaths } from './omitted-paths.ts';
import type { OmissionKind } from './omitted-paths.ts';
import { FirstPaths } from './path-order.ts';
import type { PathOrder } from './path-order.ts';
import { hasBrace, listedPaths } from './ripgrep-output.ts';
import { ripgrep, ripgrepArguments } from './ripgrep.ts';
import { argumentOf, isBelow, isDirect, resolveStart, stripDot } from './walk-starts.ts';
import type { Start } from './walk-starts.ts';

export interface TreeWalkRun {
  /** The walk starts at the boundary's base. */
  readonly boundary: Boundary;
  readonly selection: FileSelection;
  /** True to include hidden and ignored files. `.git` is never included unless a glob names it. */
  readonly hidden: boolean;
  readonly ignored: boolean;
  /**
   * `files`: selected files. `entries`: also selected directories, with a trailing slash, and every
   * link to a file under its own name.
   */
  readonly lists: 'files' | 'entries';
  readonly order: PathOrder;
  /** Only paths from this one on are collected. */
  readonly from: string | undefined;
  /** Aborts the walk with its reason. */
  readonly signal: AbortSignal;
  /** Ends the walk with the results so far. */
  readonly deadline: AbortSignal;
  readonly onProblem: (problem: string) => void;
  /** Called for each file with the number of files seen and of paths selected. */
  readonly onFile?: (seen: number, found: number) => void;
}

export interface WalkedTree {
  /** In order, without duplicates. */
  readonly paths: readonly string[];
  /** True if more selected paths follow the last one. */
  readonly isCut: boolean;
  /** Number of selected paths, including those not collected. */
  readonly total: number;
  /** Files over 4 MiB. */
  readonly large: ReadonlySet<string>;
  readonly omitted: OmittedPaths;
  /** Starts of the selection that do not exist. */
  readonly missing: readonly string[];
  /** False if the deadline ended the walk. */
  readonly isWhole: boolean;
}

/**
 * Larger files are kept from ripgrep's threads, each of which loads a whole file if it is a single
 * line.
 */
const largeBytes = 4 * 1024 * 1024;
/** Total characters of collected paths; a few hundred thousand paths. */
const maxKeptCharacters = 8 * 1024 * 1024;
/** Limits for followed directory links, and for directories scanned for links. */
const maxFollowed = 100;
const maxDirectories = 200_000;
const maxLargeFiles = 10_000;
/**
 * Limit on paths checked against git's interpretation of a rule. Further paths keep ripgrep's
 * verdict.
 */
const maxDoubtful = 10_000;
/** Directories passed to one process. */
const maxStarts = 200;

/** Paths on which ripgrep and git may disagree. */
interface DoubtfulPaths {
  readonly hidden: Set<string>;
  readonly listed: Set<string>;
}

/**
 * Walks the tree.
 *
 * @throws errors of `ripgrep`; {ToolError} OUTSIDE_ROOTS if the selection names a path outside
 */
export async function walkTree(run: TreeWalkRun): Promise<WalkedTree> {
  return await new TreeWalk(run).walk();
}

class TreeWalk {
  readonly #run: TreeWalkRun;
  readonly #paths: FirstPaths;
  readonly #omitted = new OmittedPaths();
  readonly #omittedDirectories = new Set<string>();
  readonly #large = new Set<string>();
  /** All walked starts; `ownPaths`: those reached without a link. */
  readonly #walked = new Set<string>();
  readonly #ownPaths: string[] = [];
  /** Directories in walked starts; `unread`: those not scanned yet. */
  readonly #directories = new Set<string>();
  #unread = new Set<string>();
  #lastDirectory: string | undefined;
  /** Links already processed, and the real paths that links led to. */
  readonly #settled = new Set<string>();
  readonly #followed = new Set<string>();
  #followedDirectories = 0;
  #seen = 0;
  #total = 0;

  constructor(run: TreeWalkRun) {
    this.#run = run;
    this.#paths = new FirstPaths(run.order, run.from, maxKeptCharacters);
  }

  async walk(): Promise<WalkedTree> {
    const { selection, signal, deadline } = this.#run;
    const { starts, missing } = await this.#resolveStarts();
    await this.#walkOwn(starts.filter(isDirect));
    for (const start of starts) if (!isDirect(start) && !this.#isOver) await this.#follow(start);
    while (this.#unread.size > 0 && !this.#isOver) {
      for (const link of await this.#readDirectories()) {
        if (!this.#isOver) await this.#followLink(link);
      }
    }
    if (this.#run.lists === 'entries') {
      for (const path of this.#directories) {
        if (isSliceOver()) await nextSlice(signal);
        if (path !== '' && selection.acceptsDirectory(path)) this.#choose(`${path}/`);
      }
    }
    const isDirectory = (path: string, kind: OmissionKind): boolean =>
      kind === 'outside' || kind === 'links' || this.#omittedDirectories.has(path);
    await this.#omitted.keep(
      (path, kind) =>
        !this.#walked.has(path) &&
        (selection.acceptsFile(path) || (isDirectory(path, kind) && selection.reaches(path))),
      signal,
    );
    return {
      ...this.#paths.finish(),
      total: this.#total,
      large: this.#large,
      omitted: this.#omitted,
      missing,
      isWhole: !deadline.aborted,
    };
  }

  get #isOver(): boolean {
    this.#run.signal.throwIfAborted();
    return this.#run.deadline.aborted;
  }

  async #resolveStarts() {
    const { boundary, selection } = this.#run;
    const starts: Start[] = [];
    const missing: string[] = [];
    for (const shown of selection.starts) {
      const start = await resolveStart(boundary, shown);
      if (start === undefined) missing.push(shown);
      else starts.push(start);
    }
    return { starts, missing };
  }

  /** Walks the outermost starts, then the starts inside them that rules hide. */
  async #walkOwn(starts: readonly Start[]): Promise<void> {
    let left = starts;
    while (left.length > 0 && !this.#isOver) {
      const outermost = left.filter(
        ({ shown }) => !left.some((other) => other.shown !== shown && isBelow(other.shown, shown)),
      );
      const directories = outermost.filter(({ kind }) => kind === 'directory');
      for (const start of outermost) if (start.kind !== 'directory') this.#takeNamed(start);
      for (const { shown } of directories) {
        this.#ownPaths.push(shown);
        this.#begin(shown);
      }
      if (directories.length > 0) await this.#list(directories.map(argumentOf), stripDot);
      left = left.filter((start) => !outermost.includes(start) && this.#omitted.hides(start.shown));
    }
  }

  async #followLink(link: string): Promise<void> {
    const { boundary, onProblem } = this.#run;
    try {
      const start = await resolveStart(boundary, link);
      if (start === undefined) this.#omitted.add('broken', link);
      else await this.#follow(start);
    } catch (error) {
      if (!(error instanceof ToolError) || error.code === 'ROOT_UNAVAILABLE') throw error;
      if (error.code === 'OUTSIDE_ROOTS') this.#omitted.add('outside', link);
      else onProblem(error.message);
    }
  }

  /** Reports the target of a link unless it is reported under its own path. */
  async #follow(start: Start): Promise<void> {
    const { selection, lists } = this.#run;
    const { shown, inRoot, real, kind } = start;
    if (this.#settled.has(shown)) return;
    this.#settled.add(shown);
    const isFollowed = this.#followed.has(real);
    this.#followed.add(real);
    if (kind !== 'directory') {
      const isMet = isFollowed || (inRoot !== undefined && this.#isReported(inRoot));
      if (lists === 'entries' || !isMet) this.#takeNamed(start);
      return;
    }
    const isKnown = inRoot !== undefined && this.#isWalked(inRoot) && selection.matchesByName;
    if (lists === 'entries' && selection.acceptsDirectory(shown)) this.#choose(`${shown}/`);
    if (isFollowed || isKnown) return;
    if (this.#followedDirectories === maxFollowed) return this.#omitted.add('links', shown);
    this.#followedDirectories += 1;
    this.#begin(shown, lists === 'entries');
    const argument = argumentOf(start);
    const isChosen = (path: string) => inRoot === undefined || !this.#isReported(stripDot(path));
    await this.#list([argument], (path) => shown + path.slice(argument.length), isChosen);
  }

  /** True if a directory was walked under its own path. */
  #isWalked(path: string): boolean {
    return this.#ownPaths.some((start) => isBelow(start, path)) && !this.#omitted.hides(path);
  }

  /** True if a file is reported under its own path. */
  #isReported(path: string): boolean {
    return this.#isWalked(path) && this.#run.selection.acceptsFile(path);
  }

  #takeNamed({ shown, kind, sizeBytes }: Start): void {
    if (kind === 'special') this.#omitted.add('special', shown);
    else this.#take(shown, sizeBytes > largeBytes);
  }

  async #list(
    starts: readonly string[],
    shownAs: (path: string) => string,
    isChosen: (path: string) => boolean = () => true,
  ): Promise<void> {
    const left = [...starts];
    while (left.length > 0 && !this.#isOver) {
      left.push(...(await this.#listPart(left.splice(0, maxStarts), shownAs, isChosen)));
    }
  }

  /** @returns directories that ripgrep hides but git does not */
  async #listPart(
    starts: readonly string[],
    shownAs: (path: string) => string,
    isChosen: (path: string) => boolean,
  ): Promise<readonly string[]> {
    const { boundary, selection, hidden, ignored, signal, deadline, onProblem } = this.#run;
    const rules = new GitRules(boundary.base.path, signal);
    const doubtful: DoubtfulPaths = { hidden: new Set(), listed: new Set() };
    const meet = (path: string, isLarge: boolean): void => {
      const shown = shownAs(path);
      if (!ignored && hasBrace(path)) addWithBraces(doubtful.listed, path, starts);
      if (isChosen(path)) {
        this.#addDirectoryOf(shown);
        this.#take(shown, isLarge);
      }
      this.#seen += 1;
      this.#run.onFile?.(this.#seen, this.#total);
    };
    const large: string[] = [];
    let moreLarge = 0;
    const noteLarge = (path: string): void => {
      if (large.length < maxLargeFiles) large.push(path);
      else moreLarge += 1;
    };
    const records = ripgrep({
      args: [
        ...ripgrepArguments,
        // Reports omitted paths and opened ignore files.
        '--debug',
        '--files',
        '--null',
        '--sort=path',
        `--max-filesize=${largeBytes}`,
        '--glob=!.git',
        ...(hidden ? ['--hidden'] : []),
        ...(ignored ? ['--no-ignore'] : []),
        ...selection.pruneArgs,
        '--',
        ...starts,
      ],
      root: boundary.base,
      signal,
      deadline,
      records: listedPaths(),
      onOmitted: (path, reason) => {
        if (reason === 'large') noteLarge(path);
        else if (reason !== 'braces') this.#omitted.add(reason, shownAs(path));
        else if (doubtful.hidden.size < maxDoubtful) {
          doubtful.hidden.add(path);
          addWithBraces(doubtful.listed, parentOf(path), starts);
        } else this.#omitted.add('ignored', shownAs(path));
      },
      onIncluded: (path) => {
        if (doubtful.listed.size < maxDoubtful) doubtful.listed.add(path);
      },
      onIgnoreFile: (path) => rules.add(path),
      onEnd: (end) => end.problems.forEach(onProblem),
    });
    for await (const { paths, unnamed } of records) {
      for (const path of paths) {
        if (isSliceOver()) await nextSlice(signal);
        meet(path, false);
      }
      for (const path of unnamed) this.#omitted.add('unnamed', shownAs(path));
    }
    for (const path of large) {
      if (isSliceOver()) await nextSlice(signal);
      meet(path, true);
    }
    if (moreLarge > 0) onProblem(`${moreLarge} more files over ${largeBytes} bytes`);
    const isWithheld = await this.#withhold(doubtful.listed, rules, shownAs);
    const directories: string[] = [];
    for (const path of doubtful.hidden) {
      if (this.#isOver) break;
      if (isWithheld(shownAs(path))) continue;
      const { reason, stats } = await this.#judge(path, rules);
      if (reason !== undefined) this.#omitted.add(reason, shownAs(path));
      else if (stats?.isDirectory()) {
        this.#addDirectory(shownAs(path));
        directories.push(path);
      } else if (stats?.isFile()) meet(path, stats.size > largeBytes);
      // Links are found by the directory scan.
      else if (!stats?.isSymbolicLink()) this.#omitted.add('special', shownAs(path));
    }
    return directories;
  }

  /**
   * Removes paths that ripgrep listed but git ignores.
   *
   * @returns predicate for removed paths
   */
  async #withhold(
    paths: ReadonlySet<string>,
    rules: GitRules,
    shownAs: (path: string) => string,
  ): Promise<(shown: string) => boolean> {
    const withheld = new Set<string>();
    for (const path of paths) {
      if (this.#isOver) break;
      const { reason } = await this.#judge(path, rules);
      if (reason === undefined) continue;
      this.#omitted.add(reason, shownAs(path));
      withheld.add(shownAs(path));
    }
    if (withheld.size === 0) return () => false;
    const isWithheld = (path: string): boolean => {
      for (let at = path; at !== ''; at = parentOf(at)) if (withheld.has(at)) return true;
      return false;
    };
    this.#total -= await this.#paths.remove(isWithheld, this.#run.signal);
    for (const directories of [this.#directories, this.#unread]) {
      for (const path of directories) if (isWithheld(path)) directories.delete(path);
    }
    this.#lastDirectory = undefined;
    return isWithheld;
  }

  /** Decides by git's rules whether to omit a path. */
  async #judge(
    path: string,
    rules: GitRules,
  ): Promise<{ readonly reason?: 'ignored' | 'hidden'; readonly stats?: Stats }> {
    const { boundary, hidden, onProblem } = this.#run;
    try {
      const stats = await statsOf(resolve(boundary.base.path, path));
      // Removed in the meantime, or the name is not UTF-8.
      if (stats === undefined) return { reason: 'ignored' };
      const verdict = await rules.verdictOf(path, stats.isDirectory());
      if (verdict === 'ignored') return { reason: 'ignored' };
      const isHidden = !hidden && verdict === undefined && basename(path).startsWith('.');
      return isHidden ? { reason: 'hidden' } : { stats };
    } catch (error) {
      if (disk.systemCode(error) === undefined) throw error;
      onProblem(`${quoted(stripDot(path))} ${disk.describeFsError(error).phrase}`);
      return { reason: 'ignored' };
    }
  }

  /** @param isLinked true for a link, which is already listed as such */
  #begin(start: string, isLinked = false): void {
    this.#walked.add(start);
    this.#unread.add(start);
    if (!isLinked) this.#directories.add(start);
  }

  #addDirectoryOf(path: string): void {
    const directory = parentOf(path);
    if (directory === this.#lastDirectory) return;
    this.#lastDirectory = directory;
    for (
      let at = directory;
      !this.#walked.has(at) && !this.#directories.has(at);
      at = parentOf(at)
    ) {
      if (at === '') return;
      this.#addDirectory(at);
    }
  }

  #addDirectory(path: string): void {
    if (this.#directories.size === maxDirectories) {
      this.#run.onProblem(`links and empty directories in more than ${maxDirectories} directories`);
      return;
    }
    this.#directories.add(path);
    this.#unread.add(path);
  }

  #take(path: string, isLarge: boolean): void {
    if (!this.#run.selection.acceptsFile(path)) return;
    if (isLarge) this.#large.add(path);
    this.#choose(path);
  }

  #choose(path: string): void {
    this.#total += 1;
    this.#paths.add(path);
  }

  /** Scans pending directories and returns the links in them, in order. */
  async #readDirectories(): Promise<readonly string[]> {
    const { boundary, selection, onProblem } = this.#run;
    const directories = this.#unread;
    this.#unread = new Set();
    const links: string[] = [];
    await scanDirectories({
      root: boundary.base.path,
      directories,
      isOmitted: (path) => this.#omitted.hides(path) || selection.excludes(path),
      onLink: (path) => void links.push(path),
      onOmittedDirectory: (path) => void this.#omittedDirectories.add(path),
      onProblem,
      isOver: () => this.#isOver,
    });
    for (const path of directories) if (!this.#walked.has(path)) this.#directories.add(path);
    return links.sort();
  }
}

/** Adds a path and its parents below the start, if their names contain braces. */
function addWithBraces(paths: Set<string>, path: string, starts: readonly string[]): void {
  for (let at = path; hasBrace(at) && !starts.includes(at); at = parentOf(at)) {
    if (paths.size < maxDoubtful) paths.add(at);
  }
}

/** Parent directory of a path; '' for the root. */
function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}
