import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkDirectories, rejectMistyped } from '../src/directories.ts';
import { workspaceCommand } from '../../../test/e2e/server-process.ts';
import { UsageError } from '../src/command.ts';

let base: string;

beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-actors-')));
  mkdirSync(join(base, 'with space'));
  writeFileSync(join(base, 'file'), '');
});
afterAll(() => rmSync(base, { recursive: true }));

test('directories are made absolute from the working directory', () => {
  const given = ['with space', '.', join(base, 'with space', '..')];
  const all = [join(base, 'with space'), base, base];
  expect(checkDirectories(given, base)).toEqual({ all, usable: all, faults: [] });
});

test.each([
  ['gone', /^"gone" does not exist \(looked for .*\/gone\)\. .* --help$/],
  ['file', /^"file" is not a directory/],
  ['file/below', /^"file\/below" does not exist: a part of .* is a file/],
  ['', /^"" is empty/],
  ['~/project', /No shell expands ~/],
  ['${workspaceFolder}', /does not expand variables/],
  ['file:///tmp', /Use a path, not a URI/],
])('%j is refused, and the message says why', (name, message) => {
  const check = () => checkDirectories([name], base);
  expect(check).toThrow(UsageError);
  expect(check).toThrow(message);
});

test('one that cannot be used beside another is a fault, and never becomes the working directory', () => {
  const { all, usable, faults } = checkDirectories(['gone', '', '.'], base);
  expect(all).toEqual([join(base, 'gone'), '', base]);
  expect(usable).toEqual([base]);
  expect(faults).toEqual([
    expect.stringContaining('"gone" does not exist'),
    expect.stringContaining('"" is empty'),
  ]);
});

// Whoever runs as root may read everything.
test.runIf(process.platform !== 'win32')('one that may not be read ends the start', () => {
  const path = join(base, 'closed');
  mkdirSync(path);
  chmodSync(path, 0o000);
  const isRoot = process.getuid?.() === 0;
  // The folder above is the test's own, and nobody else's.
  if (isRoot) chmodSync(base, 0o755);
  const { status, stderr } = spawnSync(process.execPath, [...workspaceCommand, path], {
    encoding: 'utf8',
    input: '',
    ...(isRoot ? { uid: 65_534, gid: 65_534, env: { ...process.env, HOME: base } } : {}),
  });
  chmodSync(path, 0o700);
  expect([status, stderr]).toEqual([
    2,
    `mcp-actors: ${JSON.stringify(path)} is not readable: permission denied (${path}). Arguments are directories to serve; see mcp-actors --help\n`,
  ]);
  expect(() => rejectMistyped(['closed'], base, { what: 'a command', known: [] })).not.toThrow();
});

test('where none can be used each is named', () => {
  expect(() => checkDirectories(['gone', 'file'], base)).toThrow(/"gone" .*\n"file" is not/);
});

describe('a word that may be a command', () => {
  const commands = { what: 'a command', known: ['check', 'doctor', '--inspect'] };
  const refuse = (...names: readonly string[]) => rejectMistyped(names, base, commands);

  test('is refused with the nearest, whatever follows it', () => {
    expect(() => refuse('dctor', '.')).toThrow(
      /^"dctor" is neither a command nor a directory \(looked for .*\/dctor\)\. Did you mean doctor\?/,
    );
    expect(() => refuse('inspect')).toThrow(/Did you mean --inspect\?$/);
    expect(() => refuse('nonsense')).toThrow(/Use one of check, doctor, or an existing directory/);
  });

  test('is a directory if there is one, if it is written as a path, or if others are', () => {
    mkdirSync(join(base, 'doctors'));
    const names = [['doctors'], ['./dctor'], ['nonsense', '.'], [], ['']];
    for (const each of names) expect(() => refuse(...each)).not.toThrow();
  });
});
