import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openRoot, rootsResolver } from 'mcp-actors/roots';
import type { RootsReport } from 'mcp-actors';
import { workspaceServer } from '../src/workspace-server.ts';
import type { WorkspaceFacts } from '../src/project/workspace-facts.ts';
import type { WorkspaceSources } from '../src/project/workspace.ts';
import {
  callTool,
  fakeContext,
  reportOf,
  toolError,
  undeclared,
} from '../../roots/test/fake-context.ts';
import { readAnswer } from './read-answer.ts';
import { rootDirectory } from '../../roots/test/root-at.ts';
import { temporaryDirectory, writeFiles } from '../../roots/test/temporary-directory.ts';

const files = { 'file.txt': 'needle\n', '.git/HEAD': 'ref: refs/heads/main\n' };
const secrets = { 'secret.txt': 'needle\n', '.git/HEAD': 'ref: refs/heads/secret\n' };

/** A directory that contains a root and its siblings. */
async function place() {
  const directory = await temporaryDirectory();
  await writeFiles(join(directory, 'root'), files);
  await writeFiles(join(directory, 'outside'), secrets);
  const root = join(directory, 'root');
  return {
    root,
    outside: join(directory, 'outside'),
    moved: join(directory, 'moved'),
    async moveAway() {
      await rename(root, join(directory, 'moved'));
    },
  };
}

type Place = Awaited<ReturnType<typeof place>>;

/** Replacements for a root. */
const replacements: readonly (readonly [string, (at: Place) => Promise<void>, RegExp])[] = [
  ['a link to the outside', ({ outside, root }) => symlink(outside, root), /symbolic link/],
  ['a link to itself, moved', ({ moved, root }) => symlink(moved, root), /symbolic link/],
  ['another directory', ({ root }) => writeFiles(root, secrets), /another directory/],
  ['nothing', async () => {}, /does not exist/],
];

/** Sources of roots. */
const origins: readonly (readonly [
  string,
  (root: string) => Promise<{ sources: Partial<WorkspaceSources>; report: RootsReport }>,
])[] = [
  ['the client', async (root) => ({ sources: {}, report: await reportAt(root) })],
  ['the command line', async (root) => ({ sources: { directories: [root] }, report: undeclared })],
  ['the working directory', async (root) => ({ sources: { cwd: root }, report: undeclared })],
];

async function reportAt(...paths: readonly string[]): Promise<RootsReport> {
  const roots = paths.map((path) => ({ uri: pathToFileURL(path).href }));
  return reportOf(await rootsResolver()(roots, new AbortController().signal));
}

/** Calls a tool of a session's workspace. */
function session(sources: Partial<WorkspaceSources>, report: RootsReport) {
  const { definition } = workspaceServer({ cwd: '/', home: '/nobody', version: '1', ...sources });
  return async (name: string, args: object = {}) => {
    const tool = definition.tools?.find((candidate) => candidate.name === name);
    if (tool === undefined) throw new Error(`There is no tool ${name}`);
    return await callTool(tool, args, fakeContext(report));
  };
}

const calls: readonly (readonly [string, object])[] = [
  ['list_directory', {}],
  ['find_files', {}],
  ['search_text', { pattern: 'needle' }],
  ['read_file', { path: 'file.txt' }],
  ['read_file', { path: 'secret.txt' }],
];

describe.each(origins)('root from %s', (_, originOf) => {
  test.each(replacements)(
    'refuses every tool after the root was replaced by %s',
    async (_what, replace, words) => {
      const at = await place();
      const { sources, report } = await originOf(at.root);
      const call = session(sources, report);
      expect(readAnswer((await call('find_files')).text).lines).toEqual(['file.txt']);
      await at.moveAway();
      await replace(at);
      for (const [name, args] of calls) {
        const error = await toolError(call(name, args));
        expect(error.code).toBe('ROOT_UNAVAILABLE');
        expect(error.message).toMatch(words);
      }
      const { structured } = await call('workspace_info');
      const { git, warnings } = structured as unknown as WorkspaceFacts;
      expect(git).toBeUndefined();
      expect(warnings).toEqual([expect.stringMatching(words)]);
    },
  );

  test('accepts a restored root again', async () => {
    const at = await place();
    const { sources, report } = await originOf(at.root);
    const call = session(sources, report);
    expect(readAnswer((await call('find_files')).text).lines).toEqual(['file.txt']);
    await at.moveAway();
    expect((await toolError(call('find_files'))).code).toBe('ROOT_UNAVAILABLE');
    await rename(at.moved, at.root);
    expect(readAnswer((await call('find_files')).text).lines).toEqual(['file.txt']);
  });
});

test('refuses roots inside a command line directory that was replaced', async () => {
  const at = await place();
  await writeFiles(at.root, { 'inner/a.txt': '' });
  const inner = join(at.root, 'inner');
  const sources = { directories: [at.root] };
  const call = session(sources, await reportAt(inner));
  expect(readAnswer((await call('find_files')).text).lines).toEqual(['a.txt']);
  const replaced = session(sources, await reportAt(inner));
  await replaced('workspace_info');
  await at.moveAway();
  await mkdir(at.root);
  // The root itself is unchanged; only the directory it was chosen in is not.
  await rename(join(at.moved, 'inner'), inner);
  const error = await toolError(replaced('find_files'));
  expect(error.code).toBe('ROOT_UNAVAILABLE');
  expect(error.message).toContain(JSON.stringify(at.root));
});

test('refuses a path in another root that was replaced', async () => {
  const [one, two] = [await place(), await place()];
  const call = session({}, await reportAt(one.root, two.root));
  await two.moveAway();
  await writeFiles(two.root, secrets);
  const error = await toolError(call('read_file', { path: join(two.root, 'secret.txt') }));
  expect(error.code).toBe('ROOT_UNAVAILABLE');
});

test.runIf(process.platform === 'linux')(
  'starts a process in the checked directory, whatever its path leads to by then',
  async () => {
    const at = await place();
    const { cwd, confirm, close } = await openRoot(rootDirectory(at.root));
    onTestFinished(close);
    await at.moveAway();
    await symlink(at.outside, at.root);
    expect(execFileSync('ls', { cwd, encoding: 'utf8' })).toBe('file.txt\n');
    await confirm();
    expect(await readFile(join(at.root, 'secret.txt'), 'utf8')).toBe('needle\n');
  },
);
