/**
 * Limits the size of `.gitignore` and similar files, because ripgrep compiles them to several
 * hundred times their size.
 */
import { disk, quoted } from 'mcp-actors/internal';
import { ToolError } from 'mcp-actors';
import { dirname, resolve } from 'node:path';

/** Limit for all files that apply to one directory, including those of its parents, bytes. */
const maxIgnoreBytes = 64 * 1024;

export class IgnoreFiles {
  readonly #root: string;
  readonly #onTooMuch: (error: ToolError) => void;
  /** Bytes by directory. */
  readonly #bytes = new Map<string, number>();
  #checked: Promise<void> = Promise.resolve();

  /**
   * @param root base of relative paths
   * @param onTooMuch called with SEARCH_FAILED if the limit is exceeded
   */
  constructor(root: string, onTooMuch: (error: ToolError) => void) {
    this.#root = root;
    this.#onTooMuch = onTooMuch;
  }

  /** Counts a file opened by ripgrep. */
  add(path: string): void {
    const size = sizeOf(resolve(this.#root, path));
    this.#checked = this.#checked.then(async () => this.#count(path, await size));
  }

  /** Resolves once all files so far are counted. */
  async checked(): Promise<void> {
    await this.#checked;
  }

  #count(path: string, size: number): void {
    const own = dirname(resolve(this.#root, path));
    this.#bytes.set(own, (this.#bytes.get(own) ?? 0) + size);
    let total = 0;
    for (let above = own, below = ''; above !== below; [below, above] = [above, dirname(above)]) {
      total += this.#bytes.get(above) ?? 0;
    }
    if (total <= maxIgnoreBytes) return;
    const message = `${quoted(path)} and the ignore files above it must have at most ${maxIgnoreBytes} bytes in total, got ${total}. Shorten them, or work in another root`;
    this.#onTooMuch(new ToolError(message, { code: 'SEARCH_FAILED' }));
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    const stats = await disk.stat(path);
    return stats.isFile() ? stats.size : 0;
  } catch {
    // Removed in the meantime; its size is unknown.
    return 0;
  }
}
