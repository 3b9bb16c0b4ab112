/**
 * The public conformance suite, which needs a newer Node than the project. npm fetches both once
 * for all runs.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';

const name = '@modelcontextprotocol/conformance';

/** The release that must pass. */
export const pinned = '0.2.0-alpha.12';

/**
 * The highest release, including prereleases.
 *
 * @throws {Error} if npm cannot query it
 */
export function newestRelease(): string {
  const text = execFileSync('npm', ['view', name, 'versions', '--json'], { encoding: 'utf8' });
  // npm lists them in ascending order.
  const newest = (JSON.parse(text) as readonly string[]).at(-1);
  if (newest === undefined) throw new Error(`npm knows no release of ${name}`);
  return newest;
}

/** Working directory of the suite, and a search path with the suite and its Node first. */
export interface Suite {
  readonly cwd: string;
  readonly path: string;
}

/** @throws {Error} if npm cannot fetch them */
export function fetchSuite(cwd: string, release = pinned): Suite {
  const packages = ['node@24', `${name}@${release}`];
  const args = ['--yes', ...packages.flatMap((each) => ['-p', each]), '-c'];
  const path = execFileSync('npx', [...args, 'node -p process.env.PATH'], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { cwd, path: path.trim() };
}

/** Runs a command of the suite; returns its exit code and output. */
export async function runSuite(
  { cwd, path }: Suite,
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly output: string }> {
  const child = spawn('conformance', args, {
    cwd,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code: code ?? 1, output };
}

/** Runs one scenario against a server. It passes if no check failed and at least one passed. */
export async function runAlone(
  suite: Suite,
  url: string,
  scenario: string,
  revision: string,
): Promise<{ readonly passed: number; readonly output: string }> {
  // Without --force, the suite skips scenarios that belong to no revision.
  const which = ['--url', url, '--scenario', scenario, '--spec-version', revision, '--force'];
  const { code, output } = await runSuite(suite, 'server', ...which);
  const [, passed = '0'] = /^Passed: (\d+)\//m.exec(output) ?? [];
  return { passed: code === 0 ? Number(passed) : 0, output };
}
