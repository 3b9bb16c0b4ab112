/** Runs the steps of a Dockerfile without Docker: each stage in a folder that stands for its root. */
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

interface Step {
  readonly instruction: string;
  readonly text: string;
}

interface Stage {
  /** What it begins with. */
  readonly base: string;
  readonly name: string | undefined;
  readonly steps: readonly Step[];
}

export async function stagesOf(dockerfile: string): Promise<readonly Stage[]> {
  const lines = (await readFile(dockerfile, 'utf8')).split('\n');
  const steps = lines
    .filter((line) => /^[A-Z]/.test(line))
    .map((line) => ({
      instruction: line.split(' ', 1)[0] ?? '',
      text: line.slice(line.indexOf(' ') + 1),
    }));
  return steps.flatMap(({ instruction, text }, index) => {
    if (instruction !== 'FROM') return [];
    const rest = steps.slice(index + 1);
    const end = rest.findIndex((step) => step.instruction === 'FROM');
    const [base = '', , name] = text.split(' ');
    return [{ base, name, steps: end < 0 ? rest : rest.slice(0, end) }];
  });
}

export interface StageRun {
  /** The folder that is copied into a stage by `COPY . .`: it is used where it lies, and only read. */
  readonly context: string;
  /** The folders that stand for the roots of stages lie here, each under the stage's name. */
  readonly roots: string;
  readonly env: NodeJS.ProcessEnv;
  /** Commands that are not run again. */
  readonly done: readonly string[];
}

/** @returns the folder that stands for the stage's root */
export async function runStage({ steps, name = 'image' }: Stage, how: StageRun): Promise<string> {
  const root = join(how.roots, name);
  await mkdir(root, { recursive: true });
  let context: string | undefined;
  let folder = '/';
  const placed = (path: string): string => (path === context ? how.context : join(root, path));
  for (const { instruction, text } of steps) {
    if (instruction === 'WORKDIR') {
      folder = text;
      if (folder !== context) await mkdir(placed(folder), { recursive: true });
    } else if (instruction === 'COPY' && text === '. .') {
      context = folder;
    } else if (instruction === 'COPY') {
      const [, from = '', source = '', target = ''] = /^--from=(\S+) (\S+) (\S+)$/.exec(text) ?? [];
      const options = { recursive: true, verbatimSymlinks: true };
      await cp(join(how.roots, from, source), placed(target), options);
    } else if (instruction === 'RUN' && !how.done.includes(text)) {
      const command = text.replaceAll(/(?<=\s)\/\w+/g, placed);
      await promisify(execFile)('sh', ['-c', command], { cwd: placed(folder), env: how.env });
    }
  }
  return root;
}

/** The argument of the last such instruction, if it is a list. */
export function listOf({ steps }: Stage, instruction: string): readonly string[] {
  const text = steps.findLast((step) => step.instruction === instruction)?.text ?? '';
  return JSON.parse(text.slice(text.indexOf('['))) as readonly string[];
}
