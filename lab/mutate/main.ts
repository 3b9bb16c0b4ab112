/**
 * `npm run lab -- mutate packages/http/src`: mutation testing. Injects small faults one at a time
 * and lists those no test notices. All faults of a module are compiled in, inactive, and each test
 * runs once per fault it reaches. Sources are never modified, and a fault costs a test run rather
 * than a process.
 */
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createVitest } from 'vitest/node';
import { Journal } from './journal.ts';
import { mutantsOf } from './mutants.ts';
import { fileOf, judgesOf, turnsOf } from './turns.ts';
import type { Turns } from './turns.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const usage = `npm run lab -- mutate FILE_OR_FOLDER… [options]
  --tests PATH       only tests whose path has this in it, of those that import the modules. Repeatable
  --without PATH     not those whose path has this in it. Repeatable
  --tests-a-fault N  how many of the tests that reach a fault try it, until one notices it (40). First are those that are fast
                     and reach few others
  --timeout MS       when a test with a fault counts as hung, at least; five times what it takes without (3000)
  --test-time MS     how long the faults of one test may take together (60000); what is left has its turn in the next round
  --loaded           also tries those that are reached only while their module is loaded: each over all these tests in a process
                     of its own, so that few of them should be named
  --only N,N         these faults, by the numbers of the list
  --sample N         N of the faults, chosen by chance; a larger sample has the smaller one in it
  --seed S           another seed chooses others (1)
  --journal FILE     what has come of each fault so far; a run goes on where the one before it ended
  --list             the faults, with their numbers, and none is tried`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tests: { type: 'string', multiple: true, default: [] },
    without: { type: 'string', multiple: true, default: [] },
    'tests-a-fault': { type: 'string', default: '40' },
    timeout: { type: 'string', default: '3000' },
    'test-time': { type: 'string', default: '60000' },
    only: { type: 'string' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    journal: { type: 'string' },
    loaded: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
});
if (positionals.length === 0 || !/^[1-9]\d*$/.test(values.sample ?? '1')) {
  process.stderr.write(`${usage}\n`);
  process.exit(2);
}

const modules = execFileSync('git', ['ls-files', '-z', ...positionals], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\0')
  .filter((path) => /(?<!\.d)\.ts$/.test(path));
const firsts: Record<string, number> = {};
const mutants = modules.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), 'utf8')));
for (const file of modules) {
  firsts[join(root, file)] = mutants.findIndex((mutant) => mutant.file === file);
}
if (values.list) {
  const lines = mutants.map(({ file, line, what }, at) => `${at}  ${file}:${line}  ${what}\n`);
  await new Promise<void>((resolve) => process.stdout.write(lines.join(''), () => resolve()));
  process.exit();
}

const only = values.only?.split(',').map(Number) ?? [...mutants.keys()];
const digest = (text: string): string => createHash('sha1').update(text).digest('hex');
const rank = (at: number): string => digest(`${values.seed} ${at}`);
const chosen =
  values.sample === undefined
    ? only
    : only
        .toSorted((one, other) => rank(one).localeCompare(rank(other)))
        .slice(0, Number(values.sample))
        .toSorted((one, other) => one - other);

const folder = mkdtempSync(join(tmpdir(), 'mcp-actors-mutate-'));
const journalPath = values.journal ?? join(folder, 'journal');
if (!existsSync(journalPath)) writeFileSync(journalPath, '');
const modulesPath = join(folder, 'modules.json');
const turnsPath = join(folder, 'turns.json');
writeFileSync(modulesPath, JSON.stringify(firsts));
Object.assign(process.env, {
  MUTATE_MODULES: modulesPath,
  MUTATE_JOURNAL: journalPath,
  MUTATE_TIMEOUT_MS: values.timeout,
  MUTATE_TEST_MS: values['test-time'],
});
const config = join(root, 'lab/mutate/vitest.config.ts');

/** Test files that import one of the modules. */
async function testFiles(): Promise<readonly string[]> {
  if (values.tests.length > 0 && values.tests.every((path) => path.endsWith('.test.ts')))
    return values.tests;
  const vitest = await createVitest('test', {
    config,
    related: modules.map((file) => join(root, file)),
    watch: false,
  });
  const found = await vitest.getRelevantTestSpecifications();
  await vitest.close();
  return found
    .map(({ moduleId }) => relative(root, moduleId))
    .filter((file) => values.tests.length === 0 || values.tests.some((part) => file.includes(part)))
    .filter((file) => !values.without.some((part) => file.includes(part)));
}

const journal = new Journal(journalPath);
journal.begin(digest(JSON.stringify(mutants)));
const interruption = new AbortController();
/**
 * Silence after which a worker counts as stuck in a loop. The duration of a test is known before it
 * tries a fault.
 */
const stillMs = (fault: number, test: string): number =>
  fault < 0 ? 60_000 : 15_000 + 10 * (journal.reaches.get(test)?.ms ?? 0);

/** Starts a process for these files; resolves with its exit code, 0 if all tests pass. */
function begin(files: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn(
    process.execPath,
    [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--config', config, ...files],
    {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
      detached: true,
      env: { ...process.env, ...env },
    },
  );
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const end = (): void => void (child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'));
  return { ended, end };
}

/**
 * Runs one process over the remaining test files. Without turns, it records the faults they reach.
 */
async function run(files: readonly string[], turns?: Turns): Promise<void> {
  if (turns) writeFileSync(turnsPath, JSON.stringify(turns));
  const { ended, end } = begin(files, { MUTATE_TURNS: turns ? turnsPath : '' });
  interruption.signal.addEventListener('abort', end);
  let isOver = false;
  void ended.then(() => (isOver = true));
  const startedAt = Date.now();
  while (!isOver) {
    await Promise.race([ended, delay(1000)]);
    const { mtimeMs } = statSync(journalPath);
    const hasBegun = mtimeMs > startedAt;
    const quietMs = Date.now() - Math.max(mtimeMs, startedAt);
    journal.read();
    const { fault = -1, test = '' } = journal.trying ?? {};
    if (isOver || quietMs < (hasBegun ? stillMs(fault, test) : 600_000)) continue;
    end();
    await ended;
  }
  interruption.signal.removeEventListener('abort', end);
  journal.read();
  const { fault = -1, test = '' } = journal.trying ?? {};
  if (interruption.signal.aborted || !journal.trying) return;
  // A busy machine may have caused the stop; if it recurs, the fault did.
  const what = journal.isDoubted(fault) ? 'killed' : 'doubt';
  if (fault >= 0) journal.write(what, fault, test, 'the process stands, or has ended');
  else journal.write('spoilt', 0, test, 'the process stands without a fault, or has ended');
}

/** Runs these files to their end, in as many processes as necessary. */
async function round(files: readonly string[], turns?: Turns): Promise<void> {
  journal.write('round', 0, turns ? 'turns' : 'look');
  const left = new Set(files);
  for (let vain = 0; left.size > 0 && !interruption.signal.aborted;) {
    const [tried, { size }] = [triedCount(), left];
    await run([...left], turns);
    for (const file of left) if (journal.files.has(join(root, file))) left.delete(file);
    vain = left.size === size && triedCount() === tried ? vain + 1 : 0;
    if (vain < 5) continue;
    // A file that no process can finish.
    const [first = ''] = left;
    process.stderr.write(`${first} is left out\n`);
    left.delete(first);
    vain = 0;
  }
}

/** Used in place of a test name. */
const whenLoaded = 'while its module is loaded';
const most = Number(values['tests-a-fault']);
const files = await testFiles();
// From now on, report partial results on a signal.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interruption.abort());
process.stderr.write(
  `${chosen.length} of ${mutants.length} faults in ${modules.length} files, ${files.length} test files; ${journalPath}\n`,
);
const moduleOf = (fault: number): string => mutants[fault]?.file ?? '';
await round(files);
for (
  let count = 1, tried = -1;
  tried !== triedCount() && !interruption.signal.aborted;
  count *= 2
) {
  tried = triedCount();
  const turns = turnsOf(journal, chosen, judgesOf(journal, moduleOf, most), count);
  const asked = Object.keys(turns);
  process.stderr.write(
    `${asked.length} tests have a turn; ${journal.killed.size} faults are noticed\n`,
  );
  await round([...new Set(asked.map(fileOf))], turns);
}

/** Tries faults only reached while their module loads. */
async function tryLoaded(faults: readonly number[]): Promise<void> {
  for (const fault of [-1, ...faults]) {
    const { ended, end } = begin(files, { MUTATE_AWAKE: `${fault}` });
    interruption.signal.addEventListener('abort', end);
    const code = await Promise.race([ended, delay(5 * 60_000, 'late', { ref: false })]);
    interruption.signal.removeEventListener('abort', end);
    if (code === 'late') end();
    await ended;
    if (interruption.signal.aborted) return;
    if (fault === -1 && code !== 0) throw new Error('These tests fail without a fault');
    if (fault !== -1) journal.write(code === 0 ? 'lived' : 'killed', fault, whenLoaded);
  }
}

/** Grows as long as rounds make progress. */
function triedCount(): number {
  return [...journal.lived.values()].reduce((sum, { size }) => sum + size, journal.killed.size);
}

const judges = judgesOf(journal, moduleOf, most);
const isUnreached = (at: number): boolean => judges(at).length === 0;
if (values.loaded) {
  const isLoaded = (at: number): boolean => isUnreached(at) && journal.isWanted(at, whenLoaded);
  await tryLoaded(chosen.filter(isLoaded));
}
const left = chosen.filter((at) => !journal.killed.has(at));
const unreached = left.filter((at) => isUnreached(at) && journal.isWanted(at, whenLoaded));
const survivors = left.filter((at) => isThrough(at) && !unreached.includes(at));
const untold = left.filter((at) => !isThrough(at));
/** True if all assigned tests have tried the fault. */
function isThrough(at: number): boolean {
  return judges(at).every((test) => !journal.isWanted(at, test));
}
const print = (title: string, those: readonly number[]): void => {
  process.stdout.write(`\n${title}\n`);
  for (const at of those) {
    const { file = '', line = 0, what = '' } = mutants[at] ?? {};
    process.stdout.write(`${at} (${journal.lived.get(at)?.size ?? 0})  ${file}:${line}  ${what}\n`);
  }
};
print('No test reaches these, except when the module is loaded:', unreached);
print('These survive (the number of tests that tried them):', survivors);
if (untold.length > 0) print('Not all tests that reach these have tried them:', untold);

/** Formats a table row with the results for a folder. */
function row(name: string, isIn: (at: number) => boolean): string {
  const noticed = chosen.filter((at) => journal.killed.has(at));
  const cells = [[...mutants.keys()], chosen, noticed, survivors, untold, unreached].map(
    (all) => all.filter(isIn).length,
  );
  return `${name.padEnd(30)}${cells.map((cell) => String(cell).padStart(13)).join('')}\n`;
}
const folderOf = (at: number): string => dirname(mutants[at]?.file ?? '');
const heads = ['faults', 'chosen', 'noticed', 'survive', 'open', 'not reached'];
process.stdout.write(
  `\n${' '.repeat(30)}${heads.map((head) => head.padStart(13)).join('')}\n` +
    [...new Set([...mutants.keys()].map(folderOf))]
      .map((folder) => row(folder, (at) => folderOf(at) === folder))
      .join('') +
    row('all', () => true),
);
