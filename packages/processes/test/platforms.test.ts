/** What launching a process depends on the system for, for every system on any. */
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { candidateFiles } from '../src/command.ts';
import { environmentFor } from '../src/environment.ts';
import { posixPlatform, windowsPlatform, windowsTools } from '../src/platforms.ts';

const windows = windowsPlatform(windowsTools({})).names;

describe('a command on Windows', () => {
  const env = { Path: 'C:\\bin;;"C:\\Program Files\\x";tools', PathExt: '.EXE;.CMD;' };
  const files = (command: string, variables: { readonly [name: string]: string } = env) =>
    candidateFiles(command, 'D:\\work', variables, windows).files;

  test('tries every extension in every PATH directory', () => {
    expect(files('npx')).toEqual([
      'C:\\bin\\npx.EXE',
      'C:\\bin\\npx.CMD',
      'C:\\Program Files\\x\\npx.EXE',
      'C:\\Program Files\\x\\npx.CMD',
      'D:\\work\\tools\\npx.EXE',
      'D:\\work\\tools\\npx.CMD',
    ]);
  });

  test('tries a name with an extension unchanged first', () => {
    expect(files('npx.cmd', { Path: 'C:\\bin' })[0]).toBe('C:\\bin\\npx.cmd');
    expect(files('server.v2', { Path: 'C:\\bin', PATHEXT: '.EXE' })).toEqual([
      'C:\\bin\\server.v2.EXE',
    ]);
  });

  test.each([
    ['tools/server.exe', 'D:\\work\\tools\\server.exe'],
    ['.\\server.exe', 'D:\\work\\server.exe'],
    ['E:\\apps\\server.exe', 'E:\\apps\\server.exe'],
    ['\\\\host\\share\\server.exe', '\\\\host\\share\\server.exe'],
  ])('does not search PATH for a path: %s', (command, file) => {
    const places = candidateFiles(command, 'D:\\work', env, windows);
    expect([places.files[0], places.path]).toEqual([file, undefined]);
    expect(places.files.every((each) => each.startsWith(file))).toBe(true);
  });

  test('does not search the working directory without PATH', () => {
    expect(files('npx', {})).toEqual([]);
  });
});

test('searches PATH on POSIX, where an empty entry is the working directory', () => {
  const places = (command: string, env: { readonly [name: string]: string }) =>
    candidateFiles(command, '/work', env, posixPlatform.names).files;
  expect(places('npx', { PATH: '/bin::tools', Path: '/other' })).toEqual([
    '/bin/npx',
    '/work/npx',
    '/work/tools/npx',
  ]);
  expect(places('npx', {})).toEqual(['/usr/bin/npx', '/bin/npx']);
  expect(places('./a b', { PATH: '/bin' })).toEqual(['/work/a b']);
});

describe('the environment on Windows', () => {
  const own = { Path: 'C:\\bin', SystemRoot: 'C:\\Windows', HOME: 'x', NPM_token: 'sesame' };

  test('keeps the spelling of the variables that every process needs', () => {
    expect(environmentFor({}, false, own, windows)).toEqual({
      Path: 'C:\\bin',
      SystemRoot: 'C:\\Windows',
    });
  });

  test('treats variable names as case-insensitive', () => {
    expect(environmentFor({ PATH: 'D:\\' }, ['npm_*'], own, windows)).toEqual({
      PATH: 'D:\\',
      SystemRoot: 'C:\\Windows',
      NPM_token: 'sesame',
    });
  });
});

test('finds Windows tools without PATH', () => {
  expect(windowsTools({ SystemRoot: 'D:\\Windows', PATH: 'C:\\evil' })).toEqual({
    cmd: 'D:\\Windows\\System32\\cmd.exe',
    findstr: 'D:\\Windows\\System32\\findstr.exe',
    powershell: 'D:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe',
    taskkill: 'D:\\Windows\\System32\\taskkill.exe',
  });
  expect(windowsTools({}).cmd).toBe('C:\\Windows\\System32\\cmd.exe');
});

test('checks the platform in only one module', () => {
  const folder = new URL('../src/', import.meta.url);
  const asking = readdirSync(folder).filter((name) =>
    readFileSync(new URL(name, folder), 'utf8').includes("'win32'"),
  );
  expect(asking).toEqual(['platforms.ts']);
});
