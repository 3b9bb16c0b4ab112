/** Observes `mcp-actors serve --http` with the doctor, recordings and the page. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { gate } from 'mcp-actors/testing';
import { connectTo } from '../../packages/http/test/serving.ts';
import { modern, textOf } from './both-eras-client.ts';
import { launchHttp } from './http-process.ts';
import type { HttpProcess } from './http-process.ts';
import { command, launch, reapServers, workspaceCommand } from './server-process.ts';

let base: string;
beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'mcp-actors-')));
  await writeFile(join(base, 'where.txt'), 'here');
});
afterAll(() => rm(base, { recursive: true }));
afterEach(reapServers);

function serve(...args: readonly string[]): Promise<HttpProcess> {
  return launchHttp([...workspaceCommand, '--http', '0', '--log-level', 'info', ...args], {
    cwd: base,
  });
}

interface Outcome {
  readonly code: number;
  readonly stdout: string;
}

function run(...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, [...command, ...args], (error, stdout) =>
      resolve({ code: error ? Number(error.code) : 0, stdout }),
    );
  });
}

const doctor = ({ server }: HttpProcess, ...args: readonly string[]) =>
  run('doctor', '--timeout=10s', ...args, String(server.child.pid));

const readsWhere = { name: 'read_file', arguments: { path: 'where.txt' } };

describe('the doctor', () => {
  test('shows the state of an endpoint, and why a session on it is stuck', async () => {
    // The doctor may be slow, so the client's request stays pending until then.
    const serving = await serve('--max-sessions', '9', '--roots-timeout', '10min');
    const { url } = serving;
    expect((await doctor(serving)).stdout).toContain(
      `${url.href}: 0 of 9 sessions open, 0 idle; 0 streams open; 0 requests without a session, 0 not answered yet`,
    );
    await connectTo(url, 'legacy');
    const held = gate();
    const client = await connectTo(url, 'legacy', { roots: {} });
    client.setRequestHandler('roots/list', async () => {
      await held.pass();
      return { roots: [{ uri: pathToFileURL(base).href }] };
    });
    const read = client.callTool(readsWhere);
    await held.arrived();
    const { code, stdout } = await doctor(serving);
    expect(code).toBe(0);
    expect(stdout).toContain(`${url.href}: 2 of 9 sessions open`);
    expect(stdout).toMatch(
      /^ {2}\S{8}… http-client 1, active, \d streams? open: .*roots\/list, asked .* ago/m,
    );
    expect(stdout).toMatch(/^ {2}1 session waits for its client/m);
    held.release();
    expect(textOf(await read)).toContain('here');
  });

  test('counts sessionless requests, and does not wait for their clients', async () => {
    const serving = await serve();
    const client = await connectTo(serving.url, modern);
    await client.callTool(readsWhere);
    const { stdout } = await doctor(serving);
    expect(stdout).toMatch(
      /0 of 10000 sessions open.*; [1-9]\d* requests without a session, 0 not/,
    );
    expect(stdout).not.toContain('initialize');
    expect(stdout).toContain('Nothing is pending: any client may ask');
  });
});

test.each([
  ['2025-11-25', 'legacy'],
  ['2026-07-28', modern],
] as const)(
  'replays sessions of %s recorded with --record, each from its own file',
  async (_, mode) => {
    const folder = await mkdtemp(join(base, 'recorded-'));
    const { server, url } = await serve('--record', join(folder, 'mine.jsonl'));
    for (let at = 0; at < 2; at++) {
      const asking = new URL(url);
      asking.searchParams.set('project_path', join(base, at === 0 ? '.' : folder));
      await (await connectTo(asking, mode)).callTool(readsWhere);
    }
    server.child.kill('SIGTERM');
    expect(await server.exit).toEqual({ code: 0, signal: null });
    const names = (await readdir(folder)).sort();
    expect(names).toEqual(['mine-1.jsonl', 'mine-2.jsonl']);
    for (const name of names) {
      expect(await readFile(join(folder, name), 'utf8')).toContain('where.txt');
      const { code, stdout } = await run('replay', join(folder, name));
      expect([code, stdout]).toEqual([0, expect.stringContaining(': as recorded: ')]);
    }
  },
);

test('rejects an unwritable --record target before serving anyone', async () => {
  const path = join(base, 'gone', 'mine.jsonl');
  const server = launch([...workspaceCommand, '--http', '0', '--record', path], { cwd: base });
  expect((await server.exit).code).toBe(2);
  expect(server.stderr).toContain('--record: ');
  expect(server.stderr).toContain('gone" is no directory that can be written to');
});
