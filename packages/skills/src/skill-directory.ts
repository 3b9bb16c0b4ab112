/**
 * Skills in a directory. Each has a subdirectory with a `SKILL.md`.
 *
 * Every client request searches the directory again, so listings match what a read returns. Digests
 * of unchanged files are cached. Links that leave the directory are not followed.
 */
import { join, relative } from 'node:path';
import { basename, dirname } from 'node:path/posix';
import { skillAt } from '../../../src/server/define/skill.ts';
import type { ServedSkillFile, Skill, SkillFinder } from '../../../src/server/define/skill.ts';
import { utf8Of } from '../../../src/protocol/content.ts';
import { printable } from '../../../src/protocol/printable.ts';
import {
  sha256Of,
  readFrontmatter,
  skillBounds,
  skillFileName,
} from '../../../src/protocol/skills.ts';
import { resolveInside } from '../../roots/src/boundary.ts';
import type { Boundary } from '../../roots/src/boundary.ts';
import { checkDirectory } from '../../roots/src/directory-check.ts';
import { readDirectories, stat } from '../../roots/src/disk/disk.ts';
import { fileOpener, readBytes, readInside } from '../../roots/src/open-inside.ts';
import type { FileOpener } from '../../roots/src/open-inside.ts';

/** Options of {@link skillsFrom}. */
export interface SkillsFromOptions {
  /**
   * Called when a skill has a problem, once until the problem changes. Other skills are still
   * served. Default: a process warning.
   */
  readonly onProblem?: (problem: string) => void;
}

/** Limits of one directory. */
const bounds = { entries: 10_000, depth: 16, bytes: 64 * 1024 * 1024 };

/** Cached data of a file, with the file's status at that time. */
interface Measured {
  readonly stamp: string;
  readonly size: number;
  readonly digest: string;
  /** First bytes of a `SKILL.md`; undefined if it is not UTF-8. */
  readonly head: string | undefined;
}

/**
 * Creates a finder for the skills in a directory, at any depth. The path of a skill's directory
 * becomes the path of its URI.
 *
 * @param directory resolved against the working directory of the process
 */
export function skillsFrom(directory: string, options: SkillsFromOptions = {}): SkillFinder {
  const found = new SkillDirectory(options);
  return async () => {
    const check = await checkDirectory(directory);
    if (!check.ok) throw new Error(`Skills cannot be read: ${check.message}`);
    return found.skills({ directories: [check], base: check }, '.');
  };
}

/**
 * Skills of a possibly missing directory inside a boundary: {@link skillsFrom} for a directory that
 * the client chose.
 */
export class SkillDirectory {
  readonly #options: SkillsFromOptions;
  /** Files found by the previous search, by real path. */
  #measured = new Map<string, Measured>();
  /** Problems found by the previous search. */
  #problems: ReadonlySet<string> = new Set();

  constructor(options: SkillsFromOptions = {}) {
    this.#options = options;
  }

  /**
   * Searches the directory for skills.
   *
   * @param path relative to the boundary's base
   * @throws {ToolError} if the boundary's directory is gone
   */
  async skills(boundary: Boundary, path: string): Promise<readonly Skill[]> {
    const start = await resolveInside(boundary, path);
    if (!start.exists) return [];
    const search = new Search(boundary, start.path, this.#measured);
    const skills = await search.skills();
    this.#measured = search.measured;
    for (const problem of search.problems) if (!this.#problems.has(problem)) this.#report(problem);
    this.#problems = search.problems;
    return skills;
  }

  #report(problem: string): void {
    const { onProblem = (text) => process.emitWarning(text) } = this.#options;
    onProblem(problem);
  }
}

/** One search of a directory. */
class Search {
  readonly problems = new Set<string>();
  readonly measured = new Map<string, Measured>();
  readonly #boundary: Boundary;
  /** Real path of the directory. */
  readonly #start: string;
  readonly #previous: ReadonlyMap<string, Measured>;
  /** Paths found, each with the reason why it cannot be served, if any. */
  readonly #entries = new Map<string, string | undefined>();
  #bytesLeft = bounds.bytes;

  constructor(boundary: Boundary, start: string, previous: ReadonlyMap<string, Measured>) {
    this.#boundary = boundary;
    this.#start = start;
    this.#previous = previous;
  }

  async skills(): Promise<readonly Skill[]> {
    await this.#walk('', 0);
    const opener = await fileOpener(this.#boundary);
    try {
      const skills: Skill[] = [];
      for (const entry of this.#entries.keys()) {
        if (basename(entry) !== skillFileName) continue;
        const path = dirname(entry);
        try {
          skills.push(await this.#skillAt(path, opener));
        } catch (error) {
          const where = printable(this.#real(path));
          this.problems.add(`The skill in ${where} is skipped: ${(error as Error).message}`);
        }
      }
      return skills;
    } finally {
      await opener.close();
    }
  }

  async #walk(directory: string, depth: number): Promise<void> {
    const [entries] = await readDirectories([this.#real(directory)]);
    if (!entries || entries instanceof Error) {
      if (directory === '' && entries) throw entries;
      this.#entries.set(directory, 'cannot be read');
      return;
    }
    for (const entry of [...entries].sort(byName)) {
      // Hidden entries, such as .git and .DS_Store, are not part of a skill.
      if (entry.name.startsWith('.')) continue;
      const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
      if (this.#entries.size >= bounds.entries) {
        this.problems.add(
          `${printable(this.#start)} has more than ${bounds.entries} files: the rest is skipped`,
        );
        return;
      }
      const kind = entry.isSymbolicLink() ? await this.#statTarget(path) : entry;
      if (typeof kind === 'string') this.#entries.set(path, kind);
      else if (kind.isFile()) this.#entries.set(path, undefined);
      else if (!kind.isDirectory()) this.#entries.set(path, 'is neither a file nor a directory');
      else if (depth === bounds.depth)
        this.#entries.set(path, `is nested more than ${bounds.depth} directories deep`);
      else await this.#walk(path, depth + 1);
    }
  }

  /** File status of a link's target, or the reason why the link is not followed. */
  async #statTarget(path: string) {
    try {
      return await stat((await resolveInside(this.#boundary, this.#real(path))).path);
    } catch (error) {
      return `is a link that cannot be followed: ${(error as Error).message}`;
    }
  }

  /** @throws {Error} if the skill cannot be served */
  async #skillAt(path: string, opener: FileOpener): Promise<Skill> {
    if (path === '.') throw new Error(`${skillFileName} must be in a directory of its own`);
    const files = new Map<string, ServedSkillFile>();
    let bytes = 0;
    for (const [entry, fault] of this.#entries) {
      if (!entry.startsWith(`${path}/`)) continue;
      if (fault !== undefined) throw new Error(`${printable(entry)} ${fault}`);
      const { size, digest } = await this.#measure(entry, opener);
      bytes += size;
      if (files.size === skillBounds.files || bytes > skillBounds.bytes) {
        throw new Error(
          `it has more than ${skillBounds.files} files or ${skillBounds.bytes} bytes`,
        );
      }
      files.set(entry.slice(path.length + 1), {
        size,
        digest: async () => digest,
        read: () => readInside(this.#boundary, this.#real(entry), { maxBytes: skillBounds.bytes }),
      });
    }
    const { head } = await this.#measure(`${path}/${skillFileName}`, opener);
    if (head === undefined) throw new Error(`${skillFileName} must be UTF-8`);
    return skillAt(path, await readFrontmatter(head), files);
  }

  async #measure(path: string, opener: FileOpener): Promise<Measured> {
    const real = this.#real(path);
    const already = this.measured.get(real);
    if (already) return already;
    const { size, mtimeMs, ctimeMs, ino } = await stat(real);
    this.#bytesLeft -= size;
    if (size > skillBounds.bytes || this.#bytesLeft < 0) {
      const limit = `${skillBounds.bytes} bytes, or all files together more than ${bounds.bytes}`;
      throw new Error(`${printable(path)} has more than ${limit}`);
    }
    const stamp = [size, mtimeMs, ctimeMs, ino].join();
    const before = this.#previous.get(real);
    const measured = before?.stamp === stamp ? before : await this.#read(path, stamp, opener);
    this.measured.set(real, measured);
    return measured;
  }

  async #read(path: string, stamp: string, opener: FileOpener): Promise<Measured> {
    const { handle } = await opener.open(relative(this.#boundary.base.path, this.#real(path)));
    try {
      const bytes = await readBytes(handle, skillBounds.bytes);
      if (!bytes) throw new Error(`${printable(path)} has more than ${skillBounds.bytes} bytes`);
      const isManifest = basename(path) === skillFileName;
      const head = isManifest ? utf8Of(bytes)?.slice(0, skillBounds.frontmatterBytes) : undefined;
      return { stamp, size: bytes.length, digest: await sha256Of(bytes), head };
    } finally {
      await handle.close();
    }
  }

  #real(path: string): string {
    return path === '' ? this.#start : join(this.#start, ...path.split('/'));
  }
}

const byName = (one: { readonly name: string }, other: { readonly name: string }): number =>
  one.name < other.name ? -1 : 1;
