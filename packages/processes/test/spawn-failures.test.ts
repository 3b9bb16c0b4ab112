/** What cannot be started is told as such, by what is wrong with it. */
import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { RuntimeError } from '../../../src/protocol/errors.ts';
import { endAll, script, start } from './started.ts';
import type { StartOptions } from './started.ts';

let folder = '';
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'spawn-')));
  await mkdir(join(folder, 'directory'));
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'plain'), 'echo never\n');
  await writeFile(join(folder, 'bin', 'tool'), '#!/bin/sh\necho "found as $0"\n');
  await writeFile(join(folder, 'orphan'), '#!/no/such/interpreter -x\n');
  await writeFile(join(folder, 'strange'), '#! /tmp\n');
  for (const name of ['bin/tool', 'orphan', 'strange']) await chmod(join(folder, name), 0o755);
  await symlink(join(folder, 'nowhere'), join(folder, 'dangling'));
});
afterAll(() => rm(folder, { recursive: true }));
afterEach(endAll);

const path = '/usr/bin:/bin';

/** In the folder, with a short PATH. */
async function failure(command: string, args: string[] = [], options: StartOptions = {}) {
  const server = start(command, args, { cwd: folder, env: { PATH: path }, ...options });
  const { error } = await server.told('process.failed');
  await server.gone;
  expect(server.order).toEqual(['failed', 'gone']);
  expect(error).toBeInstanceOf(RuntimeError);
  expect((error as RuntimeError).code).toBe('SPAWN_FAILED');
  return (error as RuntimeError).message;
}

const inside = (name: string) => JSON.stringify(join(folder, name));

describe.each([{ isWatched: true }, { isWatched: false }])('a command, %o,', (watching) => {
  test('reports the searched PATH if it is not found [PROC-07]', async () => {
    const message = `Command "no-such-server" not found in PATH (${path})`;
    expect(await failure('no-such-server', [], watching)).toBe(message);
  });

  test('reports a missing path as written', async () => {
    expect(await failure('./nothing', [], watching)).toBe('Command "./nothing" not found');
    expect(await failure('./dangling', [], watching)).toBe('Command "./dangling" not found');
    expect(await failure('plain/x', [], watching)).toBe('Command "plain/x" not found');
  });

  test("reports the system's error for a command that is too long", async () => {
    const long = Array.from({ length: 40 }, () => 'x'.repeat(100_000));
    expect(await failure('true', long, watching)).toMatch(/^"true" could not be started: .*E2BIG/);
  });

  test('resolves relative to its working directory', async () => {
    const options = { ...watching, cwd: folder, env: { PATH: `bin:${path}` } };
    expect(await start('tool', [], options).line()).toBe(`found as ${join(folder, 'bin/tool')}`);
    expect(await start('./bin/tool', [], options).line()).toContain('found as');
    expect(await start(join(folder, 'bin/tool'), [], options).line()).toContain('found as');
  });
});

describe('a command', () => {
  test('reports a directory or a non-executable file [PROC-07]', async () => {
    expect(await failure('./directory')).toBe(`${inside('directory')} is a directory`);
    expect(await failure('./plain')).toBe(`${inside('plain')} is not executable`);
    const env = { PATH: `${folder}:${path}` };
    expect(await failure('plain', [], { env })).toBe(`${inside('plain')} is not executable`);
  });

  test('reports an unusable interpreter', async () => {
    expect(await failure('./orphan')).toBe(
      '"./orphan" needs the interpreter "/no/such/interpreter", which does not exist',
    );
    expect(await failure('./strange')).toBe(
      '"./strange" needs the interpreter "/tmp", which is a directory',
    );
  });

  test('reports an unusable working directory instead of the command [PROC-07]', async () => {
    expect(await failure('true', [], { cwd: join(folder, 'nowhere') })).toBe(
      `The working directory ${inside('nowhere')} does not exist`,
    );
    expect(await failure('true', [], { cwd: join(folder, 'plain') })).toBe(
      `The working directory ${inside('plain')} is not a directory`,
    );
  });

  test.each([
    ['', [], {}, 'command must not be empty'],
    ['  ', [], {}, 'command must not be empty'],
    [undefined, [], {}, 'command must be a string, got missing'],
    ['tr\0ue', [], {}, 'command must not contain a NUL character'],
    ['true', ['a', 'b\0'], {}, 'args[1] must not contain a NUL character'],
    ['true', [5], {}, 'args[0] must be a string, got 5'],
    ['true', 'a b', {}, 'args must be an array, got "a b"'],
    ['true', [], { A: '\0' }, 'env.A must not contain a NUL character'],
    ['true', [], { A: 1 }, 'env.A must be a string, got 1'],
    [
      'true',
      [],
      { 'A=B': 'x' },
      'Names of environment variables must not be empty or contain "=" or NUL, got "A=B"',
    ],
    [
      'true',
      [],
      { '': 'x' },
      'Names of environment variables must not be empty or contain "=" or NUL, got ""',
    ],
  ])('rejects %j with %j and %j', async (command, args, env, message) => {
    const options = { env: env as { readonly [name: string]: string } };
    expect(await failure(command as string, args as string[], options)).toBe(message);
  });

  test('reports every failed start', async () => {
    for (let times = 0; times < 3; times++) await failure('no-such-server');
  });

  test('passes variables a shell would drop, skips the watcher, and reports it', async () => {
    const env = { 'npm_config_@a:registry': 'https://registry.example' };
    const server = start('env', [], { env });
    expect(await server.lines()).toContain('npm_config_@a:registry=https://registry.example');
    expect(server.facts).toMatchObject([{ name: 'process.unwatched', level: 'info' }]);
    await server.gone;
    const plain = script('true', { env: { A: 'x' } });
    await plain.gone;
    expect(plain.facts).toEqual([]);
  });
});
