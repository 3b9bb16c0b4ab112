/** Stepping through a recording with the page open. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { initialize, initialized } from 'mcp-actors/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { command } from '../../../../test/e2e/server-process.ts';
import { needsChromium } from '../../../../test/browser/chromium.ts';
import { open } from './inspected.ts';

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-actors-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
});

/** Starts the command. */
function start(...args: readonly string[]) {
  const child = spawn(process.execPath, [...command, ...args]);
  const printed = { stdout: '', stderr: '' };
  child.stdout.on('data', (text: Buffer) => (printed.stdout += text.toString()));
  child.stderr.on('data', (text: Buffer) => (printed.stderr += text.toString()));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { child, printed, ended };
}

test('replay --step --inspect shows the played session, input by input', async (context) => {
  needsChromium(context);
  const file = join(folder, 'session.jsonl');
  const recorded = start('workspace', '--record', file);
  const introduction = initialize(1, { capabilities: { roots: {} } });
  recorded.child.stdin.write(`${JSON.stringify(introduction)}\n`);
  await once(recorded.child.stdout, 'data');
  recorded.child.stdin.end(`${JSON.stringify(initialized)}\n`);
  expect(await recorded.ended).toBe(0);

  const { child, printed, ended } = start('replay', '--step', '--inspect', file);
  while (!/http:\S+\//.test(printed.stderr)) await once(child.stderr, 'data');
  const [url = ''] = /http:\S+\//.exec(printed.stderr) ?? [];
  const { page, faults } = await open(url);
  const state = (name: string) => page.locator('#state').filter({ hasText: name }).waitFor();
  await state('uninitialized');
  child.stdin.write('\n');
  await state('negotiated');
  expect(await page.locator('#chart-session .node.active').getAttribute('class')).toContain(
    's-open_lifecycle_negotiated',
  );
  child.stdin.write('\n');
  await page.locator('#pending li', { hasText: 'roots/list' }).waitFor();
  expect(faults).toEqual([]);
  child.stdin.end();
  expect(await ended).toBe(0);
  expect(printed.stdout).toMatch(/session\.jsonl: as recorded: \d+ inputs given/);
});
