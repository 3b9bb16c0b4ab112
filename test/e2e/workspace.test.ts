import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { makeNamedPipe } from '../../packages/roots/test/named-pipe.ts';
import { preload } from './preload.ts';
import { closeClients, connect, textOf } from './sdk-client.ts';
import { launch, reapServers, workspaceCommand } from './server-process.ts';

let base: string;
let one: string;
let two: string;

beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-actors-')));
  [one, two] = [join(base, 'one'), join(base, 'two')];
  for (const [directory, word] of [
    [one, 'apple'],
    [two, 'banana'],
  ] as const) {
    mkdirSync(directory);
    writeFileSync(join(directory, 'fruit.txt'), `first line\n${word}\nlast line\n`);
  }
  writeFileSync(join(base, 'secret.txt'), 'outside\n');
  symlinkSync(join(base, 'secret.txt'), join(one, 'link.txt'));
});
afterAll(() => rmSync(base, { recursive: true }));
afterEach(closeClients);

/** The served project and the source that named it. */
async function projectOf(sdk: Awaited<ReturnType<typeof connect>>): Promise<unknown> {
  return (await sdk.call('workspace_info'))['project'];
}

/** The text of a result for the model. */
async function answerOf(
  sdk: Awaited<ReturnType<typeof connect>>,
  name: string,
  args: { [argument: string]: unknown } = {},
): Promise<string> {
  const result = await sdk.callRaw(name, args);
  expect(result.isError ?? false, textOf(result)).toBe(false);
  return textOf(result);
}

describe('the workspace server, with the official client', () => {
  test('initializes and describes its tools', async () => {
    const { client } = await connect(workspaceCommand, { cwd: one });
    expect(client.getServerVersion()).toMatchObject({ name: 'mcp-actors-workspace' });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'workspace_info',
        'list_directory',
        'find_files',
        'search_text',
        'read_file',
      ]) as string[],
    );
    for (const { title, description, annotations } of tools) {
      expect(title).toBeTruthy();
      expect(description).toBeTruthy();
      expect(annotations?.readOnlyHint).toBe(true);
    }
  });

  test("works in the client's roots", async () => {
    const sdk = await connect(workspaceCommand, { roots: [one], cwd: base });
    expect(textOf(await sdk.callRaw('workspace_info'))).toContain(one);
    expect(await answerOf(sdk, 'list_directory')).toContain(`${one}: 1 file below it.\n`);
    expect(await answerOf(sdk, 'find_files')).toMatch(/\n\nfruit\.txt$/);
    expect(await answerOf(sdk, 'search_text', { pattern: 'apple' })).toMatch(
      /^1 matching line in 1 of 1 file in .*\n\nfruit\.txt\n2: apple$/s,
    );
    expect(textOf(await sdk.callRaw('read_file', { path: 'fruit.txt:2-2' }))).toBe(
      'fruit.txt: lines 2 to 2 of 3, 27 bytes\n\napple\n',
    );
    expect(sdk.rootsAsked).toBe(1);
  });

  test('applies changed roots to the next call', async () => {
    const sdk = await connect(workspaceCommand, { roots: [one], cwd: base });
    expect(await answerOf(sdk, 'search_text', { pattern: 'banana' })).toMatch(/^No matches /);
    await sdk.changeRoots([two]);
    expect(await answerOf(sdk, 'search_text', { pattern: 'banana' })).toContain(
      `in 1 of 1 file in ${two}.`,
    );
    const gone = await sdk.callRaw('read_file', { path: join(one, 'fruit.txt') });
    expect(gone.isError).toBe(true);
    expect(textOf(gone)).toContain('OUTSIDE_ROOTS');
    expect(sdk.rootsAsked).toBe(2);
  });

  test.each([
    ['a path with dots', () => '../secret.txt'],
    ['an absolute path', () => join(base, 'secret.txt')],
    ['a symbolic link', () => 'link.txt'],
  ])('refuses %s that leads out of the roots, naming the roots [BOUND-02]', async (_what, path) => {
    const sdk = await connect(workspaceCommand, { roots: [one], cwd: base });
    const result = await sdk.callRaw('read_file', { path: path() });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('OUTSIDE_ROOTS');
    expect(textOf(result)).toContain(one);
  });

  test('without roots works in the given directory, then in MCP_PROJECT_PATH, then in the working directory', async () => {
    const given = await connect([...workspaceCommand, one], { cwd: base });
    expect(await projectOf(given)).toMatchObject({ path: one, source: 'argument' });
    const named = await connect(workspaceCommand, { cwd: base, env: { MCP_PROJECT_PATH: two } });
    expect(await projectOf(named)).toMatchObject({ path: two, source: 'env' });
    const started = await connect(workspaceCommand, { cwd: two });
    expect(await projectOf(started)).toMatchObject({ path: two, source: 'cwd' });
  });

  test('does not fall back to the working directory if all roots are unusable, unless requested', async () => {
    const gone = join(base, 'gone');
    const options = { roots: [gone], cwd: one };
    const refused = await (await connect(workspaceCommand, options)).callRaw('find_files');
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain('NO_PROJECT');
    expect(textOf(refused)).toContain(`"${pathToFileURL(gone).href}": "${gone}" does not exist`);
    const named = await connect(workspaceCommand, { ...options, env: { MCP_PROJECT_PATH: two } });
    expect(await projectOf(named)).toMatchObject({ path: two, source: 'env' });
    const given = await connect([...workspaceCommand, one], options);
    expect(await projectOf(given)).toMatchObject({ path: one });
  });

  test('reports one bad directory among several as a warning on stderr and in workspace_info', async () => {
    const gone = join(base, 'gone');
    const sdk = await connect([...workspaceCommand, gone, one], { cwd: base });
    expect(await sdk.log.find(({ event }) => event === 'directory.unusable')).toMatchObject({
      level: 'warning',
      message: expect.stringContaining(`"${gone}" does not exist`) as string,
    });
    expect(await sdk.call('workspace_info')).toMatchObject({
      project: { path: one },
      warnings: [`"${gone}" does not exist`],
    });
  });

  test('treats directories as a ceiling for roots, unless --follow-roots lifts it', async () => {
    const within = await connect([...workspaceCommand, one], { roots: [two], cwd: base });
    expect(await projectOf(within)).toMatchObject({ path: one });
    const lifted = await connect([...workspaceCommand, '--follow-roots', one], {
      roots: [two],
      cwd: base,
    });
    expect(await projectOf(lifted)).toMatchObject({ path: two, source: 'roots' });
  });

  test('keeps the working directory, unless --chdir lets it follow the project', async () => {
    const tell = preload(`const { chdir } = process;
      process.chdir = (directory) => {
        chdir.call(process, directory);
        console.error(JSON.stringify({ event: 'chdir', message: process.cwd() }));
      };`);
    const follows = await connect([...tell, ...workspaceCommand, '--chdir'], {
      roots: [one],
      cwd: base,
    });
    expect(await follows.log.find(({ event }) => event === 'chdir')).toMatchObject({
      message: one,
    });
    await follows.changeRoots([two]);
    await follows.log.find(({ event, message }) => event === 'chdir' && message === two);

    const stays = await connect([...tell, ...workspaceCommand], { roots: [one], cwd: base });
    await answerOf(stays, 'find_files');
    await stays.changeRoots([two]);
    await answerOf(stays, 'find_files');
    expect(stays.log.all).toEqual([]);
  });

  test('publishes the same in workspace://roots, and announces changes', async () => {
    const sdk = await connect(workspaceCommand, { roots: [one], cwd: base });
    const uri = 'workspace://roots';
    const updated = new Promise<string>((resolve) => {
      sdk.client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) =>
        resolve(params.uri),
      );
    });
    sdk.client.setNotificationHandler(ResourceListChangedNotificationSchema, () => {});
    await sdk.client.subscribeResource({ uri });
    expect(JSON.stringify(await sdk.client.readResource({ uri }))).toContain(one);
    await sdk.changeRoots([two]);
    expect(await updated).toBe(uri);
    expect(JSON.stringify(await sdk.client.readResource({ uri }))).toContain(two);
  });

  test('does not answer a cancelled call, and continues the session', async () => {
    const sdk = await connect(workspaceCommand, { roots: [one], cwd: base });
    const controller = new AbortController();
    const call = sdk.client.callTool(
      { name: 'search_text', arguments: { pattern: 'e' } },
      undefined,
      {
        signal: controller.signal,
      },
    );
    controller.abort('enough');
    await expect(call).rejects.toThrow('enough');
    expect(await answerOf(sdk, 'find_files')).toContain('fruit.txt');
  });
});

/** Turns these files into pipes and back as fast as possible, until killed. */
const flipping = `
  const { linkSync, renameSync, rmSync } = require('node:fs');
  const flipped = ['.git/HEAD', 'package.json', 'Makefile'];
  for (;;) {
    for (const kind of ['head', 'pipe']) {
      for (const name of flipped) {
        linkSync(kind, 'next');
        renameSync('next', name);
        rmSync('next', { force: true });
      }
    }
    if (flipped.length === 3) flipped.push('.git/HEAD'), console.log('flipping');
  }`;

test('hangs neither in a call nor at the end if files repeatedly become pipes', async () => {
  const project = join(base, 'flipping');
  mkdirSync(join(project, '.git'), { recursive: true });
  writeFileSync(join(project, 'head'), 'ref: refs/heads/main\n');
  makeNamedPipe(join(project, 'pipe'));
  const flipper = spawn(process.execPath, ['-e', flipping], { cwd: project });
  onTestFinished(() => void flipper.kill('SIGKILL'));
  await once(flipper.stdout, 'data');

  const server = launch([...workspaceCommand, project]);
  onTestFinished(reapServers);
  await server.initialize();
  for (let round = 0; round < 30; round += 1) {
    const ids = Array.from({ length: 8 }, (_, index) => `${round}-${index}`);
    const params = { name: 'workspace_info', arguments: {} };
    const answers = await Promise.all(ids.map((id) => server.request(id, 'tools/call', params)));
    for (const { result } of answers) expect(result).not.toHaveProperty('isError');
  }
  const read = { name: 'read_file', arguments: { path: 'head' } };
  expect(await server.request('read', 'tools/call', read)).toMatchObject({
    result: { content: [{ text: 'head: 1 line, 21 bytes\n\nref: refs/heads/main\n' }] },
  });
  server.end();
  expect(await server.exit).toEqual({ code: 0, signal: null });
});
