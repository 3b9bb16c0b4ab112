/**
 * `npm run mutate -- src/http`: breaks the code on purpose, one small fault at a time, and lists those that no test notices. All
 * faults of a module are built into it at once, where they sleep, and each test runs once for each fault that it reaches: nothing
 * is written into the sources, and a fault costs what a test costs, not what a process does.
 */
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createVitest } from 'vitest/node';
import { Journal } from './mutate/journal.ts';
import { mutantsOf } from './mutate/mutants.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const usage = `npm run mutate -- FILE_OR_FOLDER… [options]
  --tests PATH       only tests whose path has this in it, of those that import the modules. Repeatable
  --without PATH     not those whose path has this in it. Repeatable
  --tests-a-fault N  a fault that so many tests have reached and none has noticed survives (40)
  --faults-a-test N  a test that reaches more of those that are left is not asked: of what all reach few tests tell anything.
                     First with a few, and then with more on the same journal, is faster than all at once
  --timeout MS       when a test with a fault counts as hung, at least; five times what it takes without (3000)
  --test-time MS     how long the faults of one test may take together (60000)
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
    'faults-a-test': { type: 'string', default: 'Infinity' },
    timeout: { type: 'string', default: '3000' },
    'test-time': { type: 'string', default: '60000' },
    only: { type: 'string' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    journal: { type: 'string' },
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
writeFileSync(modulesPath, JSON.stringify(firsts));
Object.assign(process.env, {
  MUTATE_MODULES: modulesPath,
  MUTATE_JOURNAL: journalPath,
  MUTATE_TIMEOUT_MS: values.timeout,
  MUTATE_TEST_MS: values['test-time'],
  MUTATE_MOST_TESTS: values['tests-a-fault'],
  MUTATE_MOST_FAULTS: values['faults-a-test'],
  MUTATE_ONLY: chosen.join(','),
});
const config = join(root, 'scripts/mutate/vitest.config.ts');

/** The test files that import one of the modules, those first that lie as they do. */
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
  const shared = (file: string): number => {
    const folders = file.split(sep).slice(1);
    const counts = modules.map((module) => {
      const parts = module.split('/').slice(1);
      const differs = parts.findIndex((part, at) => part !== folders[at]);
      return differs === -1 ? parts.length : differs;
    });
    return Math.max(...counts);
  };
  return found
    .map(({ moduleId }) => relative(root, moduleId))
    .filter((file) => values.tests.length === 0 || values.tests.some((part) => file.includes(part)))
    .filter((file) => !values.without.some((part) => file.includes(part)))
    .sort((one, other) => shared(other) - shared(one));
}

const journal = new Journal(journalPath, Number(values['tests-a-fault']));
journal.begin(
  digest(JSON.stringify(mutants)),
  digest(`${values['faults-a-test']} ${chosen.join(',')}`),
);
/** Then it says what it knows so far. */
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interruption.abort());
/** How long a worker may write nothing before it is taken to stand in a loop. */
const stillMs = 60_000;

/** One process over the test files that are left. Whether it came to the end of them. */
async function run(files: readonly string[]): Promise<void> {
  const child = spawn(
    process.execPath,
    [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--config', config, ...files],
    { cwd: root, stdio: ['ignore', 'ignore', 'inherit'], detached: true },
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const end = (): void => void (child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'));
  interruption.signal.addEventListener('abort', end);
  let isOver = false;
  void ended.then(() => (isOver = true));
  const startedAt = Date.now();
  while (!isOver) {
    await Promise.race([ended, delay(1000)]);
    const quietMs = Date.now() - Math.max(statSync(journalPath).mtimeMs, startedAt);
    if (isOver || quietMs < stillMs) continue;
    journal.read();
    const { fault = -1, test = '' } = journal.last ?? {};
    if (fault >= 0) journal.write('killed', fault, test, 'the process stands');
    else journal.write('spoilt', 0, test, 'the process stands without a fault');
    end();
    await ended;
  }
  interruption.signal.removeEventListener('abort', end);
  journal.read();
}

const files = await testFiles();
process.stderr.write(
  `${chosen.length} of ${mutants.length} faults in ${modules.length} files, ${files.length} test files; ${journalPath}\n`,
);
for (let left = files, same = 0; left.length > 0 && !interruption.signal.aborted;) {
  await run(left);
  const next = files.filter((file) => !journal.files.has(join(root, file)));
  same = next.length === left.length ? same + 1 : 0;
  // A file that no process gets over.
  if (same === 3) {
    process.stderr.write(`${next[0]} is left out\n`);
    next.shift();
    same = 0;
  }
  left = next;
}

const survivors = chosen.filter((at) => !journal.killed.has(at) && journal.lived.has(at));
const unreached = chosen.filter((at) => !journal.killed.has(at) && !journal.lived.has(at));
const print = (title: string, those: readonly number[]): void => {
  process.stdout.write(`\n${title}\n`);
  for (const at of those) {
    const { file = '', line = 0, what = '' } = mutants[at] ?? {};
    process.stdout.write(`${at} (${journal.lived.get(at)?.size ?? 0})  ${file}:${line}  ${what}\n`);
  }
};
print('No test reaches these, except when the module is loaded:', unreached);
print('These survive (the number of tests that reached them):', survivors);

/** One line of the table: what is known of the faults in a folder. */
function row(name: string, isIn: (at: number) => boolean): string {
  const counts = [[...mutants.keys()], chosen, survivors, unreached].map(
    (all) => all.filter(isIn).length,
  );
  const [made = 0, tried = 0, survive = 0, missed = 0] = counts;
  const cells = [made, tried, tried - survive - missed, survive, missed];
  return `${name.padEnd(30)}${cells.map((cell) => String(cell).padStart(13)).join('')}\n`;
}
const folderOf = (at: number): string => dirname(mutants[at]?.file ?? '');
const heads = ['faults', 'chosen', 'noticed', 'survive', 'not reached'];
process.stdout.write(
  `\n${' '.repeat(30)}${heads.map((head) => head.padStart(13)).join('')}\n` +
    [...new Set([...mutants.keys()].map(folderOf))]
      .map((folder) => row(folder, (at) => folderOf(at) === folder))
      .join('') +
    row('all', () => true),
);
