/**
 * Skills that lie in a directory, each in one of its own with a `SKILL.md`.
 *
 * They are looked for each time that a client asks, so that what it is told is what it reads. A file that has not changed
 * is not read again for its digest. Nothing outside of the directory is served, wherever a link leads.
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

/** What is done about skills that cannot be served. */
export interface SkillsFromOptions {
  /**
   * Called with what is wrong with a skill, once until that changes; the others are served. By default the process is
   * warned.
   */
  readonly onProblem?: (problem: string) => void;
}

/** Bounds of one directory. */
const bounds = { entries: 10_000, depth: 16, bytes: 64 * 1024 * 1024 };

/** What was read of a file, and what the file was like then. */
interface Measured {
  readonly stamp: string;
  readonly size: number;
  readonly digest: string;
  /** The beginning of a `SKILL.md` that is UTF-8. */
  readonly head: string | undefined;
}

/**
 * Finds the skills that lie in a directory, at any depth: the path of a skill's own directory is that of its URI.
 *
 * @param directory a relative path is relative to the process's working directory
 */
export function skillsFrom(directory: string, options: SkillsFromOptions = {}): SkillFinder {
  const found = new SkillDirectory(options);
  return async () => {
    const check = await checkDirectory(directory);
    if (!check.ok) throw new Error(`There are no skills: ${check.message}`);
    return found.skills({ directories: [check], base: check }, '.');
  };
}

/** The skills in a directory that need not exist, inside of a boundary: {@link skillsFrom} for what a client has chosen. */
export class SkillDirectory {
  readonly #options: SkillsFromOptions;
  /** By real path: the files that there were last time. */
  #measured = new Map<string, Measured>();
  /** What was wrong last time. */
  #problems: ReadonlySet<string> = new Set();

  constructor(options: SkillsFromOptions = {}) {
    this.#options = options;
  }

  /**
   * @param path relative to the boundary's base
   * @throws {ToolError} the boundary's directory is gone
   */
  async skills(boundary: Boundary, path: string): Promise<readonly Skill[]> {
    const start = await resolveInside(boundary, path);
    if (!start.exists) return [];
    const search = new Search(boundary, start.path, this.#measured);
    const skills = await search.skills();
    this.#measured = search.measured;
    for (const problem of search.problems) if (!this.#problems.has(problem)) this.#tell(problem);
    this.#problems = search.problems;
    return skills;
  }

  #tell(problem: string): void {
    const { onProblem = (text) => process.emitWarning(text) } = this.#options;
    onProblem(problem);
  }
}

/** One look at a directory. */
class Search {
  readonly problems = new Set<string>();
  readonly measured = new Map<string, Measured>();
  readonly #boundary: Boundary;
  /** Real. */
  readonly #start: string;
  readonly #before: ReadonlyMap<string, Measured>;
  /** By path: why it cannot be served, if it cannot. */
  readonly #entries = new Map<string, string | undefined>();
  #bytesLeft = bounds.bytes;

  constructor(boundary: Boundary, start: string, before: ReadonlyMap<string, Measured>) {
    this.#boundary = boundary;
    this.#start = start;
    this.#before = before;
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
          this.problems.add(`The skill in ${where} is left out: ${(error as Error).message}`);
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
      // Such as .git and .DS_Store: no file of a skill.
      if (entry.name.startsWith('.')) continue;
      const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
      if (this.#entries.size >= bounds.entries) {
        this.problems.add(
          `${printable(this.#start)} has more than ${bounds.entries} files: the rest is left out`,
        );
        return;
      }
      const kind = entry.isSymbolicLink() ? await this.#target(path) : entry;
      if (typeof kind === 'string') this.#entries.set(path, kind);
      else if (kind.isFile()) this.#entries.set(path, undefined);
      else if (!kind.isDirectory()) this.#entries.set(path, 'is neither a file nor a directory');
      else if (depth === bounds.depth)
        this.#entries.set(path, `lies deeper than ${bounds.depth} directories`);
      else await this.#walk(path, depth + 1);
    }
  }

  /** What a link leads to, or why it is not followed. */
  async #target(path: string) {
    try {
      return await stat((await resolveInside(this.#boundary, this.#real(path))).path);
    } catch (error) {
      return `leads nowhere in it: ${(error as Error).message}`;
    }
  }

  /** @throws {Error} it cannot be served as it is */
  async #skillAt(path: string, opener: FileOpener): Promise<Skill> {
    if (path === '.') throw new Error(`its ${skillFileName} lies in no directory of its own`);
    const files = new Map<string, ServedSkillFile>();
    let bytes = 0;
    for (const [entry, fault] of this.#entries) {
      if (!entry.startsWith(`${path}/`)) continue;
      if (fault !== undefined) throw new Error(`${printable(entry)} ${fault}`);
      const { size, digest } = await this.#measure(entry, opener);
      bytes += size;
      if (files.size === skillBounds.files || bytes > skillBounds.bytes) {
        throw new Error(
          `it has more than ${skillBounds.files} files, or ${skillBounds.bytes} bytes`,
        );
      }
      files.set(entry.slice(path.length + 1), {
        size,
        digest: async () => digest,
        read: () => readInside(this.#boundary, this.#real(entry), { maxBytes: skillBounds.bytes }),
      });
    }
    const { head } = await this.#measure(`${path}/${skillFileName}`, opener);
    if (head === undefined) throw new Error(`its ${skillFileName} is not UTF-8`);
    return skillAt(path, await readFrontmatter(head), files);
  }

  async #measure(path: string, opener: FileOpener): Promise<Measured> {
    const real = this.#real(path);
    const already = this.measured.get(real);
    if (already) return already;
    const { size, mtimeMs, ctimeMs, ino } = await stat(real);
    this.#bytesLeft -= size;
    if (size > skillBounds.bytes || this.#bytesLeft < 0) {
      const what = `${skillBounds.bytes} bytes, or all files together more than ${bounds.bytes}`;
      throw new Error(`${printable(path)} has more than ${what}`);
    }
    const stamp = [size, mtimeMs, ctimeMs, ino].join();
    const before = this.#before.get(real);
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
