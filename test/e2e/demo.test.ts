import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { comparableLines } from '../../lab/demo/picture.ts';
import { repository } from './server-process.ts';

test("pays each invoice once through three kills, as shown in the demo's picture (npm run lab -- demo-picture)", async () => {
  const args = ['--import', 'tsx', 'examples/demo/demo.ts'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: repository });
  expect(stderr).toBe('');
  expect(stdout).not.toContain('\u001b');
  const lines = comparableLines(stdout);
  expect(lines.filter((line) => line.includes('kill -9'))).toHaveLength(3);
  expect(lines.at(-1)).toContain('10 rows, 10 invoices, 4 processes, 1 form, 1 call');
  const picture = readFileSync(join(repository, 'docs/images/demo.svg'), 'utf8');
  expect(comparableLines(picture)).toEqual(lines);
});
