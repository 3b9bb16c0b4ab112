import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { repository } from './server-process.ts';

test('the demonstration tells its story to the end, without colour codes in a pipe', async () => {
  const args = ['--import', 'tsx', 'examples/demo/demo.ts'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: repository });
  expect(stderr).toBe('');
  expect(stdout).not.toContain('\u001b');
  const states = [...stdout.matchAll(/session: (\w+)/g)].map(([, state]) => state);
  expect(states[0]).toBe('uninitialized');
  expect(states.slice(-2)).toEqual(['draining', 'closed']);
  expect(stdout).toContain('roots.machine.ts');
  expect(stdout).toContain('demo/demo.ts');
  expect(stdout).toContain('OUTSIDE_ROOTS');
  expect(stdout).toContain('has ended by itself');
});
