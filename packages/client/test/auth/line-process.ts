/** A process that a test tells something in lines, and that answers in lines. */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { program } from '../../../../test/tooling/programs.ts';
import type { Program } from '../../../../test/tooling/programs.ts';

export class LineProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;

  /** Resolves once it has said that it is ready. */
  static start(source: Program, ...args: readonly string[]): Promise<LineProcess> {
    return LineProcess.startIn({}, source, ...args);
  }

  /** @param environment variables beside those of this process */
  static async startIn(
    environment: { readonly [name: string]: string },
    source: Program,
    ...args: readonly string[]
  ): Promise<LineProcess> {
    const started = new LineProcess(source, args, { ...process.env, ...environment });
    await started.says('ready');
    return started;
  }

  private constructor(source: Program, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.#child = spawn(process.execPath, [...program(source), ...args], { stdio: 'pipe', env });
    this.#child.stderr.pipe(process.stderr);
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  tell(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  /** @throws {Error} it says something else, or ends */
  async says(text: string): Promise<void> {
    const { value, done } = await this.#lines.next();
    if (done || value !== text) throw new Error(`The process said ${String(value)}, not ${text}`);
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}
