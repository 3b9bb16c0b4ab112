/**
 * How much of `.gitignore` and the like a search takes: ripgrep compiles them, to several hundred
 * times their size.
 */
import { disk, quoted } from 'mcp-actors/internal';
import { ToolError } from 'mcp-actors';
import { dirname, resolve } from 'node:path';

/** Of all that apply to one directory: its own and those above it, bytes. */
const maxIgnoreBytes = 64 * 1024;

export class IgnoreFiles {
  readonly #root: string;
  readonly #onTooMuch: (error: ToolError) => void;
  /** By their directory. */
  readonly #bytes = new Map<string, number>();
  #checked: Promise<void> = Promise.resolve();

  /**
   * @param root what relative paths are relative to
   * @param onTooMuch told if there is too much of them: SEARCH_FAILED
   */
  constructor(root: string, onTooMuch: (error: ToolError) => void) {
    this.#root = root;
    this.#onTooMuch = onTooMuch;
  }

  /** Counts a file that ripgrep has opened. */
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
    const message = `${quoted(path)} and the ignore files above it have ${total} bytes; at most ${maxIgnoreBytes} can be heeded. Make them shorter, or work in another root`;
    this.#onTooMuch(new ToolError(message, { code: 'SEARCH_FAILED' }));
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    const stats = await disk.stat(path);
    return stats.isFile() ? stats.size : 0;
  } catch {
    // It has gone since: how much of it ripgrep has read is unknown.
    return 0;
  }
}
