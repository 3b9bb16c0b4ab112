/** The workflow of a release: what it runs, and in which order. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { Edits } from '../../scripts/release/edits.ts';
import { repository } from './copied.ts';

interface Job {
  readonly needs?: string;
  readonly permissions?: { readonly [name: string]: string };
  readonly strategy?: { readonly matrix: { readonly os: readonly string[] } };
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
}

const { jobs, permissions, on } = parse(
  readFileSync(join(repository, '.github/workflows/release.yml'), 'utf8'),
) as {
  readonly on: object;
  readonly permissions: object;
  readonly jobs: { readonly [name: string]: Job };
};

/** The commands of a job, line by line. */
const commandsOf = (name: string): readonly string[] =>
  (jobs[name]?.steps ?? [])
    .flatMap(({ run = '' }) => run.split('\n'))
    .filter((line) => line !== '');

const { scripts } = new Edits(repository).readJson<{
  readonly scripts: { readonly [name: string]: string };
}>('package.json');

test('a tag runs the checks, then the tests on three systems, then the release', () => {
  expect(on).toEqual({ push: { tags: ['v*'] } });
  expect(Object.keys(jobs)).toEqual(['check', 'try', 'publish']);
  expect([jobs['check']?.needs, jobs['try']?.needs, jobs['publish']?.needs]).toEqual([
    undefined,
    'check',
    'try',
  ]);
  expect(jobs['try']?.strategy?.matrix.os).toEqual([
    'ubuntu-latest',
    'macos-latest',
    'windows-latest',
  ]);
});

test('checks run in the order version, registry rules, tests, artifacts', () => {
  expect(commandsOf('check')).toEqual([
    'npm ci',
    'npm run release -- check --tag "$GITHUB_REF_NAME"',
    'npm run release -- registry validate',
    'npm run check',
    'npm run release -- pack',
  ]);
  expect(commandsOf('try')).toEqual(['node scripts/release.ts try packed']);
});

test('publishes npm first, then the image, the registry entry and the release with the bundle', () => {
  expect(commandsOf('publish').map((line) => line.split(' packed/')[0])).toEqual([
    'npm ci --ignore-scripts',
    'npm run release -- publish',
    'npm run release -- image',
    'npm run release -- registry publish',
    'npm run --silent release -- notes > "$RUNNER_TEMP/notes.md"',
    'gh release create "$GITHUB_REF_NAME"',
  ]);
  expect(commandsOf('publish').at(-1)).toContain('packed/*.mcpb');
});

test('grants write permissions and the identity token only to the publishing job', () => {
  expect(permissions).toEqual({ contents: 'read' });
  expect(Object.entries(jobs).filter(([, job]) => job.permissions !== undefined)).toEqual([
    ['publish', expect.objectContaining({})],
  ]);
  expect(jobs['publish']?.permissions).toMatchObject({ 'id-token': 'write' });
});

test('refers only to existing scripts', () => {
  const lines = Object.keys(jobs).flatMap(commandsOf);
  const names = lines.flatMap((line) => /npm run (?:--silent )?([\w:]+)/.exec(line)?.[1] ?? []);
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter((name) => !(name in scripts))).toEqual([]);
  const files = [...lines, ...names.map((name) => scripts[name] ?? '')].flatMap(
    (line) => /\bscripts\/[\w/.-]+/.exec(line)?.[0] ?? [],
  );
  expect(files.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
});
