/** `npm run lab`: its list, its errors, and exit codes of experiments. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '../..');

function lab(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', 'lab/main.ts', ...args],
    { cwd: repository, encoding: 'utf8' },
  );
  return { status, stdout, stderr };
}

test('npm run lab lists every experiment on its own line', () => {
  const { status, stdout } = lab();
  expect(status).toBe(0);
  expect(stdout.split('\n').filter((line) => line.startsWith('  ')).length).toBeGreaterThan(10);
  expect(stdout).toMatch(/^ {2}soak {2,}\w/m);
});

test.each(['nope', 'constructor'])(
  'npm run lab rejects the unknown name %s and lists the others',
  (name) => {
    const { status, stdout, stderr } = lab(name);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(JSON.stringify(name));
    expect(stderr).toMatch(/^ {2}soak {2,}\w/m);
  },
);

test("npm run lab passes arguments on and exits with the experiment's code", () => {
  const { status, stdout } = lab('storms', '--help');
  expect(status).toBe(0);
  expect(stdout).toContain('--weather');
  expect(lab('storms', '--seeds', 'x').status).toBe(2);
});
