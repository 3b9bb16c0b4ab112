/** Drives a process of `lock-holder.ts`. */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { program } from '../../tooling/programs.ts';

export class Holder {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;

  static async start(folder: string): Promise<Holder> {
    const holder = new Holder(folder);
    await holder.#said('ready');
    return holder;
  }

  private constructor(folder: string) {
    const args = [...program('test/client/auth/lock-holder.ts'), folder];
    this.#child = spawn(process.execPath, args, { stdio: 'pipe' });
    this.#child.stderr.pipe(process.stderr);
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves once the process holds the lock of this key. */
  async holds(key: string): Promise<void> {
    this.#child.stdin.write(`${key}\n`);
    await this.#said(`holds ${key}`);
  }

  async release(): Promise<void> {
    this.#child.stdin.write('\n');
    await this.#said('released');
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  async #said(text: string): Promise<void> {
    const { value, done } = await this.#lines.next();
    if (done || value !== text) throw new Error(`The process said ${String(value)}, not ${text}`);
  }
}
