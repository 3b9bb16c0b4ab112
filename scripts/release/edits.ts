/** Files of a folder that are changed together: in memory first, then on disk, and only those that become different. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { format } from 'oxfmt';
import type { FormatConfig } from 'oxfmt';

/** How `npm run format` writes, as the formatter's own command reads it. */
const style = JSON.parse(
  readFileSync(new URL('../../.oxfmtrc.json', import.meta.url), 'utf8'),
) as FormatConfig;

export class Edits {
  readonly #folder: string;
  readonly #texts = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The same folder, without the changes that are not saved. */
  copy(): Edits {
    return new Edits(this.#folder);
  }

  /** What stands there once these changes are saved. */
  read(path: string): string {
    return this.#texts.get(path) ?? readFileSync(join(this.#folder, path), 'utf8');
  }

  readJson<T>(path: string): T {
    return JSON.parse(this.read(path)) as T;
  }

  write(path: string, text: string): void {
    this.#texts.set(path, text);
  }

  /** Writes it as `npm run format` leaves it. */
  async writeFormatted(path: string, text: string): Promise<void> {
    const { code, errors } = await format(path, text, style);
    if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
    this.write(path, code);
  }

  async writeJson(path: string, value: unknown): Promise<void> {
    // An indent: an object that begins on a line of its own stays so.
    await this.writeFormatted(path, JSON.stringify(value, undefined, 2));
  }

  /** The paths whose file these changes make different. */
  changed(): readonly string[] {
    return [...this.#texts]
      .filter(([path, text]) => text !== this.#onDisk(path))
      .map(([path]) => path);
  }

  /** @returns the paths that have been written */
  save(): readonly string[] {
    const changed = this.changed();
    for (const path of changed) {
      const file = join(this.#folder, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, this.read(path));
    }
    return changed;
  }

  #onDisk(path: string): string | undefined {
    const file = join(this.#folder, path);
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  }
}
