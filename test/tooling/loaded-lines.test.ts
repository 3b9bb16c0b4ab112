/** Lines of the library that a server loads. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The sources of ours that a server has loaded once it has answered its first call, and their lines. */
async function loadedBy(server: string): Promise<ReadonlyMap<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'loaded-'));
  const list = join(folder, 'modules');
  const hook = new URL('loaded-modules.mjs', import.meta.url).href;
  const process_ = spawn(
    process.execPath,
    ['--import', 'tsx', '--import', hook, fileURLToPath(new URL(server, import.meta.url))],
    {
      cwd: root,
      env: { ...process.env, LOADED_MODULES: list },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  onTestFinished(() => {
    process_.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  const send = (message: object) =>
    process_.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const answers = createInterface(process_.stdout)[Symbol.asyncIterator]();
  const clientInfo = { name: 'test', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  send({ id: 1, method: 'initialize', params });
  expect((await answers.next()).value).toContain('"id":1');
  send({ method: 'notifications/initialized' });
  send({ id: 2, method: 'tools/call', params: { name: 'echo', arguments: { text: 'hi' } } });
  expect((await answers.next()).value).toContain('"hi"');
  const files = readFileSync(list, 'utf8')
    .split('\n')
    .filter((url) => url.startsWith('file:'))
    .map((url) => fileURLToPath(url.replace(/\?.*/, '')))
    .filter((file) => file.startsWith(root) && !file.includes(`${sep}node_modules${sep}`))
    .map((file) => relative(root, file).replaceAll(sep, '/'))
    .filter((file) => /^(?:src|packages)\/.*\.ts$/.test(file));
  const linesOf = (file: string) => readFileSync(join(root, file), 'utf8').split('\n').length - 1;
  return new Map(files.map((file) => [file, linesOf(file)]));
}

/** Goes down only. */
const mostLines = 25_700;

test('a server with one tool loads only the features that it uses', async () => {
  const loaded = await loadedBy('one-tool-server.ts');
  const files = [...loaded.keys()];
  expect(files).toContain('src/server/server-core.ts');
  const features =
    /^packages\/(?!schema|diagnostics|tasks\/src\/task-ids\.ts)|features\/(?:session-tasks|tasks|subscriptions)\.ts|machine-run|rounds\/suspendable-calls\.ts/;
  expect(files.filter((file) => features.test(file))).toEqual([]);
  const lines = [...loaded.values()].reduce((sum, each) => sum + each, 0);
  expect(lines).toBeLessThanOrEqual(mostLines);
});
