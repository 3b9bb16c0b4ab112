/** Runs the programs of a release: npm, npx, docker, go. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Ran {
  readonly status: number;
  /** Of stdout. Empty if it went to the terminal. */
  readonly output: string;
  /** Of stderr, in the same way. */
  readonly complaint: string;
}

/** Runs a program to its end. A test has one of its own. */
export type Run = (program: string, args: readonly string[], options?: RunOptions) => Promise<Ran>;

export interface RunOptions {
  readonly cwd?: string;
  /** Its output is given back, and not shown. */
  readonly isAsked?: boolean;
}

export const run: Run = async (program, args, { cwd, isAsked = false } = {}) => {
  if (!isAsked) console.error(`$ ${[program, ...args].join(' ')}`);
  const child = spawn(program, [...args], {
    cwd,
    stdio: isAsked ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
    // npm is a batch file there. What is run on Windows has no argument with a space or a quotation mark.
    shell: process.platform === 'win32',
  });
  const output: Buffer[] = [];
  const complaint: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => complaint.push(chunk));
  const [status] = (await once(child, 'close').catch(({ message }: Error) => {
    throw new Error(`${program} cannot be started: ${message}`);
  })) as [number | null];
  return {
    status: status ?? 1,
    output: Buffer.concat(output).toString(),
    complaint: Buffer.concat(complaint).toString(),
  };
};

/** Says what would be run. */
export const rehearse: Run = async (program, args) => {
  console.log([program, ...args].join(' '));
  return Promise.resolve({ status: 0, output: '', complaint: '' });
};

/** @throws {Error} it ends with another status than 0 */
export async function must(
  by: Run,
  program: string,
  args: readonly string[],
  options?: RunOptions,
): Promise<Ran> {
  const ran = await by(program, args, options);
  if (ran.status !== 0) {
    const said = [ran.output, ran.complaint].map((text) => text.trim()).join('\n');
    throw new Error(`${[program, ...args].join(' ')} has ended with ${ran.status}. ${said}`.trim());
  }
  return ran;
}
