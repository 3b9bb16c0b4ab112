import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { launch, reapServers, workspaceCommand } from './server-process.ts';
import type { Line, ServerProcess } from './server-process.ts';

let base: string;

beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-actors-')));
  for (const name of ['one', 'two']) mkdirSync(join(base, name));
});
afterAll(() => rmSync(base, { recursive: true }));
afterEach(reapServers);

const listing = (...names: readonly string[]) => ({
  roots: names.map((name) => ({ uri: pathToFileURL(join(base, name)).href, name })),
});
const changed = { method: 'notifications/roots/list_changed' };
const heard = (server: ServerProcess, method: string) =>
  server.messages.all.filter((message) => message['method'] === method);

/** The text of `workspace_info`. */
async function info(server: ServerProcess, id: number): Promise<string> {
  const { result } = await server.request(id, 'tools/call', {
    name: 'workspace_info',
    arguments: {},
  });
  const [block] = (result as { readonly content: readonly Line[] }).content;
  return (block as Line)['text'] as string;
}

describe('a client that never answers roots/list', () => {
  test('delays calls no longer than the timeout, and the fallback is used and reported [ROOTS-09] [ROOTS-16]', async () => {
    const server = launch([...workspaceCommand, '--roots-timeout', '50ms'], {
      cwd: join(base, 'one'),
    });
    await server.initialize({ roots: { listChanged: true } });
    const asked = await server.heard('roots/list');
    const text = await info(server, 1);
    expect(text).toContain(join(base, 'one'));
    expect(text).toContain('roots');
    const cancelled = await server.heard('notifications/cancelled');
    expect(cancelled['params']).toMatchObject({ requestId: asked['id'] });
  });

  test('is asked again when its list changes, and its roots are used [ROOTS-09] [ROOTS-03]', async () => {
    const server = launch([...workspaceCommand, '--roots-timeout', '1s'], {
      cwd: join(base, 'one'),
    });
    await server.initialize({ roots: { listChanged: true } });
    await server.heard('notifications/cancelled');
    expect(heard(server, 'roots/list')).toHaveLength(1);
    server.answers.set('roots/list', () => listing('two'));
    let id = 0;
    const asked = () => {
      // A busy machine may answer later than this, like a client that never answers.
      server.send(changed);
      return info(server, ++id);
    };
    await expect.poll(asked).toContain(join(base, 'two'));
  });
});

describe('a thousand changes in a row', () => {
  test('cause exactly one more query, and end with the latest roots [ROOTS-05] [ROOTS-06]', async () => {
    const server = launch(workspaceCommand, { cwd: base });
    await server.initialize({ roots: { listChanged: true } });
    const first = await server.heard('roots/list');
    server.send(...Array.from({ length: 1000 }, () => changed), { id: 1, method: 'ping' });
    await server.answer(1);
    // Nothing is answered yet, so the first query is still the only one.
    expect(heard(server, 'roots/list')).toHaveLength(1);
    server.answers.set('roots/list', () => listing('two'));
    server.send({ id: first['id'], result: listing('one') });
    expect(await info(server, 2)).toContain(join(base, 'two'));
    expect(heard(server, 'roots/list')).toHaveLength(2);
  });
});

describe('a client that is not ready', () => {
  test('gets no roots request, whatever it announces [ROOTS-02] [ROOTS-04]', async () => {
    const server = launch(workspaceCommand, { cwd: base });
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: { roots: { listChanged: true } },
      clientInfo: { name: 'slow starter', version: '1' },
    };
    server.send({ id: 0, method: 'initialize', params }, changed, { id: 1, method: 'ping' });
    await server.answer(1);
    expect(heard(server, 'roots/list')).toEqual([]);
    server.send({ method: 'notifications/initialized' });
    await server.heard('roots/list');
  });

  test('gets no roots request if it declares no roots [ROOTS-01] [ROOTS-04]', async () => {
    const server = launch(workspaceCommand, { cwd: base });
    await server.initialize();
    server.send(changed, changed);
    await server.request(1, 'ping');
    expect(heard(server, 'roots/list')).toEqual([]);
  });
});

describe('the log', () => {
  test('names each unusable root, and the project chosen instead', async () => {
    const server = launch([...workspaceCommand, '--log-level', 'info'], {
      cwd: base,
      env: { MCP_PROJECT_PATH: join(base, 'one') },
    });
    const roots = [{ uri: 'https://example.com/' }, ...listing('missing', 'gone').roots];
    server.answers.set('roots/list', () => ({ roots }));
    await server.initialize({ roots: {} });
    await info(server, 1);
    server.answers.set('roots/list', () => ({ roots: [...roots, ...listing('two').roots] }));
    server.send(changed);
    await server.messages.find(() => heard(server, 'roots/list').length === 2);
    expect(await info(server, 2)).toContain(join(base, 'two'));
    server.child.stdin.end();
    await server.exit;
    const facts = server.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
      .filter(({ event }) => /^(root|project)\./.test(String(event)))
      .map(({ level, event, message }) => [level, event, message]);
    const missing = (name: string) =>
      expect.stringContaining(`${join(base, name)}" does not exist`);
    expect(facts).toEqual([
      ['warning', 'root.unusable', '"https://example.com/" is not a file: URI'],
      ['warning', 'root.unusable', missing('missing')],
      ['warning', 'root.unusable', missing('gone')],
      [
        'info',
        'project.chosen',
        expect.stringContaining(
          `"${join(base, 'one')}", from MCP_PROJECT_PATH: all 3 of the client's roots are unusable`,
        ),
      ],
      [
        'info',
        'project.chosen',
        expect.stringContaining(`"${join(base, 'two')}", from the client's roots`),
      ],
    ]);
  });

  test('warns if there is no project', async () => {
    const server = launch(workspaceCommand, { cwd: '/' });
    await server.initialize();
    await info(server, 1);
    server.child.stdin.end();
    await server.exit;
    expect(server.stderr).toContain('project.missing');
    expect(server.stderr).toContain('the root of the file system');
  });
});
