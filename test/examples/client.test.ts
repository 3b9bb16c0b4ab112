/** Host examples: each runs against a server in a separate process. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createActor, toPromise } from 'xstate';
import { questionMachine } from '../../examples/client/machine.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const odd = fileURLToPath(new URL('../../packages/client/test/odd-server.mjs', import.meta.url));

test('lists the tools of a server in 30 lines and calls the first without required arguments', async () => {
  const args = ['--import', 'tsx', 'examples/client/host.ts', process.execPath, odd, 'reads'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  expect(stdout).toMatch(
    /^state: ready\nodd speaks 2025-11-25\n- read: \n- crash: \nby \d+\nstate: closing\nstate: closed\n$/,
  );
});

test('invokes a connection from a machine, calls and ends it', async () => {
  const entry = { command: process.execPath, args: [odd, 'plain'] };
  const actor = createActor(questionMachine, { input: { entry, tool: 'read', args: {} } });
  actor.start();
  expect(await toPromise(actor)).toMatch(/^by \d+$/);
});

test('notifies a machine that the server of its connection has failed', async () => {
  const entry = { command: 'no-such-program-anywhere' };
  const report = () => {};
  const actor = createActor(questionMachine, { input: { entry, report, tool: 'read', args: {} } });
  actor.start();
  expect(await toPromise(actor)).toBe('The server has failed: spawn-failed');
});
