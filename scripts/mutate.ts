/**
 * `npm run mutate -- src/http`: breaks the code on purpose, one small fault at a time, and lists those that no test notices. The
 * tests that reach the changed module run for each fault, in a copy of the repository, so it takes a night for a folder: name
 * files, or take a sample with `--most`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { mutantsOf } from './mutate/mutants.ts';
import type { Mutant } from './mutate/mutants.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const usage = `npm run mutate -- FILE_OR_FOLDER… [options]
  --tests PATH     the tests that run for each fault; by default those that import the module. Repeatable
  --most N         a sample of so many faults
  --seed INTEGER   which sample (1)
  --timeout S      after how many seconds a run counts as noticed, because something hangs (300)
  --json FILE      the survivors as JSON`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tests: { type: 'string', multiple: true, default: [] },
    most: { type: 'string' },
    seed: { type: 'string', default: '1' },
    timeout: { type: 'string', default: '300' },
    json: { type: 'string' },
  },
});
if (positionals.length === 0) {
  process.stderr.write(`${usage}\n`);
  process.exit(2);
}

const git = (...args: readonly string[]): readonly string[] =>
  execFileSync('git', [...args], { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 })
    .split('\0')
    .filter((path) => path !== '');

/** A generator of numbers from 0 to 1, the same for the same seed (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function sample(all: readonly Mutant[], most: number, seed: number): readonly Mutant[] {
  const next = numbers(seed);
  const drawn = all.map((mutant, at) => ({ mutant, at, by: next() }));
  drawn.sort((one, other) => one.by - other.by);
  return drawn
    .slice(0, most)
    .sort((one, other) => one.at - other.at)
    .map(({ mutant }) => mutant);
}

const files = git('ls-files', '-z', ...positionals).filter((path) => /(?<!\.d)\.ts$/.test(path));
const all = files.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), 'utf8')));
const chosen = sample(all, Number(values.most ?? all.length), Number(values.seed));
process.stderr.write(`${all.length} faults in ${files.length} files; ${chosen.length} are tried\n`);

const copy = mkdtempSync(join(tmpdir(), 'mcp-actors-mutate-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const path of git('ls-files', '-z')) {
  mkdirSync(dirname(join(copy, path)), { recursive: true });
  cpSync(join(root, path), join(copy, path));
}
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));

/** How the tests that a module concerns end. */
function testsOf(file: string): 'passed' | 'failed' | 'hung' {
  const what = values.tests.length > 0 ? ['run', ...values.tests] : ['related', '--run', file];
  const { status, error } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/vitest/vitest.mjs'), ...what, '--bail=1', '--reporter=dot'],
    { cwd: copy, stdio: 'ignore', timeout: Number(values.timeout) * 1000, killSignal: 'SIGKILL' },
  );
  if (error) return 'hung';
  return status === 0 ? 'passed' : 'failed';
}

for (const file of new Set(chosen.map((mutant) => mutant.file))) {
  if (testsOf(file) === 'passed') continue;
  process.stderr.write(`The tests of ${file} fail without a fault: nothing can be told\n`);
  process.exit(1);
}

const survivors: Mutant[] = [];
for (const [at, mutant] of chosen.entries()) {
  const path = join(copy, mutant.file);
  writeFileSync(path, mutant.text);
  const end = testsOf(mutant.file);
  cpSync(join(root, mutant.file), path);
  const { file, line, what } = mutant;
  process.stderr.write(
    `${at + 1}/${chosen.length} ${end === 'passed' ? 'SURVIVES' : end}  ${file}:${line}  ${what}\n`,
  );
  if (end === 'passed') survivors.push(mutant);
}
for (const { file, line, what } of survivors) process.stdout.write(`${file}:${line}  ${what}\n`);
process.stdout.write(`${survivors.length} of ${chosen.length} faults survive\n`);
if (values.json !== undefined) {
  const listed = survivors.map(({ file, line, what }) => ({ file, line, what }));
  writeFileSync(values.json, `${JSON.stringify(listed, undefined, 2)}\n`);
}
