import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { command } from '../../../test/e2e/server-process.ts';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';

const repository = join(import.meta.dirname, '../../..');

const dependencies = z.record(z.string(), z.string());
const manifestShape = z.object({
  name: z.string(),
  dependencies,
  devDependencies: dependencies,
});
const manifestOf = (directory: string) =>
  manifestShape.parse(JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')));

/** Runs the built command. */
function init(cwd: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...command, 'init', ...args], {
    cwd,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

describe('mcp-actors init', () => {
  test('writes a server that is named after its directory, and says what is next', async () => {
    const cwd = await temporaryDirectory();
    const { status, stdout, stderr } = init(cwd, 'My Notes');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const directory = join(cwd, 'My Notes');
    expect(readdirSync(directory).toSorted()).toEqual([
      '.gitignore',
      'README.md',
      'package.json',
      'src',
      'tsconfig.json',
    ]);
    expect(readFileSync(join(directory, 'src/server.ts'), 'utf8')).toContain("name: 'my-notes'");
    const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
      readonly version: string;
    };
    expect(manifestOf(directory)).toMatchObject({
      name: 'my-notes',
      dependencies: { 'mcp-actors': `^${version}` },
    });
    const main = join(directory, 'dist/main.js');
    expect(stdout).toContain(`claude mcp add my-notes -- node '${main}'`);
    expect(stdout).toContain(`      "args": [\n        ${JSON.stringify(main)}\n      ]`);
    expect(stdout).toContain("  cd 'My Notes'\n  npm install\n  npm test\n");
  });

  test('takes the directory that it is started in, if only a repository was made there', async () => {
    const cwd = await temporaryDirectory({ '.git/HEAD': '' });
    const { status, stdout } = init(cwd, '.');
    expect(status).toBe(0);
    expect(stdout).toContain('Next:\n\n  npm install');
  });

  test('writes the package that it is told to, by a path that npm finds', async () => {
    const cwd = await temporaryDirectory({ 'made/mcp.tgz': '', 'real/': '' });
    symlinkSync(join(cwd, 'real'), join(cwd, 'link'), 'junction');
    const specs = {
      'made/mcp.tgz': 'file:../../made/mcp.tgz',
      'file:made/mcp.tgz': 'file:../../made/mcp.tgz',
      './made': 'file:../../made',
      '0.2.0-beta.1': '0.2.0-beta.1',
      'https://example.com/mcp.tgz': 'https://example.com/mcp.tgz',
    };
    for (const [at, [spec, written]] of Object.entries(specs).entries()) {
      const { status, stdout } = init(cwd, `link/${at}`, '--package', spec);
      expect(status).toBe(0);
      expect(stdout).not.toContain('registry');
      expect(manifestOf(join(cwd, `real/${at}`)).dependencies['mcp-actors']).toBe(written);
    }
  });

  test.each([
    ['workspace', 'workspace-server'],
    ['zod', 'zod-server'],
    ['--', 'my-server'],
    ['日本', 'my-server'],
    ['_Über Notes!_', 'uber-notes'],
  ])('calls a server in %j %j, which hosts and npm take', async (directory, name) => {
    const cwd = await temporaryDirectory();
    expect(init(cwd, `./${directory}`).status).toBe(0);
    expect(manifestOf(join(cwd, directory)).name).toBe(name);
  });

  test.each([
    [['full'], 'full must be new or empty, but contains a, b, c and 1 more'],
    [['full/a'], 'full/a cannot be written: a file with this name exists'],
    [['full/a/b'], 'full/a/b cannot be written: a file with this name exists'],
    [[], 'init needs a directory, as in mcp-actors init my-server'],
    [['x', 'y'], 'init must have one directory, got 2: x, y'],
    [['x', '--package', './none.tgz'], '--package ./none.tgz does not exist (looked for '],
    [['x', '--packages', 'y'], '--package'],
  ])('refuses %j, and writes nothing', async (args, message) => {
    const cwd = await temporaryDirectory({
      'full/a': '1',
      'full/b': '',
      'full/c': '',
      'full/d': '',
    });
    const { status, stdout, stderr } = init(cwd, ...args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(readdirSync(cwd)).toEqual(['full']);
    expect(readdirSync(join(cwd, 'full'))).toEqual(['a', 'b', 'c', 'd']);
  });

  test('--help tells its options', async () => {
    const { status, stdout } = init(await temporaryDirectory(), '--help');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Usage: mcp-actors init \[options\] DIRECTORY\n.*--package SPEC/s);
  });
});

test('the template asks for what this repository is tested with', () => {
  const ours = z
    .object({ peerDependencies: dependencies, devDependencies: dependencies })
    .parse(JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')));
  const template = manifestOf(join(repository, 'packages/cli/templates/server'));
  const asked = Object.entries({ ...template.dependencies, ...template.devDependencies });
  const tested = asked.map(([name]) => [
    name,
    name === 'mcp-actors'
      ? expect.any(String)
      : (ours.peerDependencies[name] ?? `^${ours.devDependencies[name]}`),
  ]);
  expect(asked).toEqual(tested);
});
