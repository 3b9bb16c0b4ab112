/**
 * Runs each test once normally to record the faults it reaches; in later rounds once more, then
 * once per assigned fault. Every result is a line of the journal, so that a new worker can replace
 * one that hangs or dies.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { TestRunner } from 'vitest';
import type { RunnerTask, RunnerTestCase, RunnerTestFile, RunnerTestSuite } from 'vitest';
import { faultsOfWorker } from './faults.ts';
import { Journal, rangesOf } from './journal.ts';
import type { Turns } from './turns.ts';

const faults = faultsOfWorker();
const journal = new Journal();
const none = -1;
/** Assignments of this round. Before the first round, each test is only examined. */
const turns = process.env['MUTATE_TURNS']
  ? (JSON.parse(readFileSync(process.env['MUTATE_TURNS'], 'utf8')) as Turns)
  : undefined;

/** Tests may replace them. */
const { setTimeout, clearTimeout } = globalThis;
const now = performance.now.bind(performance);

/** Ends a passed trial, so that another follows. */
const again = new Error('The next fault is tried');

/** Uncaught errors, and the callback for the next one. */
let strayed = 0;
let onStrayed: (error: unknown) => void = () => {};
const stray = (error: unknown): void => {
  strayed += 1;
  onStrayed(error);
};
process.on('unhandledRejection', stray);
process.on('uncaughtException', stray);

export default class FaultRunner extends TestRunner {
  #waiting: number[] = [];
  #awake = none;
  /** The previous fault, if it was noticed. */
  #noticed = none;
  #isPlainDue = true;
  /** True if the previous trial had no fault. */
  #isAfterPlain = false;
  #startedAt = 0;
  #plainMs = 0;
  #strayed = 0;
  /** Time after which the remaining faults of this test go to other tests. */
  #until = Infinity;

  override async onBeforeRunTask(test: RunnerTask): Promise<void> {
    await super.onBeforeRunTask(test);
    if (test.mode !== 'run' && test.mode !== 'queued') return;
    journal.read();
    const name = nameOf(test);
    const isFit = test.type === 'test' && test.fails !== true && journal.isSound(name);
    this.#waiting = (turns?.[name] ?? []).filter((each) => journal.isWanted(each, name));
    const isDue = turns ? this.#waiting.length > 0 : !journal.reaches.has(name);
    if (!isFit || !isDue) {
      test.mode = 'skip';
      return;
    }
    test.retry = Number.MAX_SAFE_INTEGER;
    this.#isPlainDue = !turns || journal.doubtful.has(name);
    this.#isAfterPlain = false;
    this.#noticed = none;
    this.#plainMs = journal.reaches.get(name)?.ms ?? 0;
    this.#until = now() + Number(process.env['MUTATE_TEST_MS']);
  }

  override onBeforeTryTask(test: RunnerTask): void {
    super.onBeforeTryTask(test);
    this.#awake = this.#isPlainDue ? none : (this.#waiting.shift() ?? none);
    faults.reached.clear();
    this.#strayed = strayed;
    this.#startedAt = now();
    journal.write('try', this.#awake, nameOf(test));
    faults.awake = this.#awake;
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test);
    if (!turns) {
      await run();
      return;
    }
    const within = Math.max(Number(process.env['MUTATE_TIMEOUT_MS']), this.#plainMs * 5);
    const ran = Promise.resolve(run());
    ran.catch(() => {});
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((_, reject) => {
      timer = setTimeout(() => reject(new Error('It hangs')), within);
      onStrayed = reject;
    });
    try {
      await Promise.race([ran, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  override onAfterTryTask(test: RunnerTestCase): void {
    super.onAfterTryTask(test);
    if (!turns) this.#plainMs = now() - this.#startedAt;
    if (now() > this.#until) this.#waiting = [];
    if (this.#waiting.length > 0 && strayed === this.#strayed) throw again;
  }

  onAfterRetryTask(test: RunnerTestCase): void {
    faults.awake = none;
    const errors = (test.result?.errors ?? []).filter(({ message }) => message !== again.message);
    const hasFailed = errors.length > 0 || strayed > this.#strayed;
    // Without an error there would be no further trial.
    if (test.result)
      test.result.errors = test.result.state === 'pass' ? [] : [{ message: again.message }];
    const why = hasFailed ? String(errors[0]?.message).slice(0, 200).replaceAll('\n', ' ') : '';
    if (this.#awake === none) {
      this.#isPlainDue = false;
      const name = nameOf(test);
      if (!hasFailed) {
        this.#isAfterPlain = true;
        if (!turns)
          journal.write('reach', Math.round(this.#plainMs), name, rangesOf(faults.reached));
        return;
      }
      // Leftovers of a fault, or a test that cannot run twice: another process continues.
      if (this.#noticed === none) journal.write('spoilt', 0, name, why);
      else journal.write('doubt', this.#noticed, name, why);
      process.kill(process.pid, 'SIGKILL');
      return;
    }
    const isSure = this.#isAfterPlain;
    this.#isAfterPlain = false;
    if (hasFailed && !isSure) {
      // Leftovers of the previous fault may only appear now: repeat after a trial without a fault.
      this.#waiting.unshift(this.#awake);
      this.#isPlainDue = true;
      this.#noticed = this.#awake;
      return;
    }
    journal.write(hasFailed ? 'killed' : 'lived', this.#awake, nameOf(test), why.slice(0, 80));
    // Determine whether leftovers make the following trials fail.
    if (hasFailed) {
      this.#isPlainDue = true;
      this.#noticed = this.#awake;
    }
  }

  override async onAfterRunSuite(suite: RunnerTestSuite): Promise<void> {
    await super.onAfterRunSuite(suite);
    if (!('filepath' in suite)) return;
    appendFileSync(journal.path, `file ${none} ${(suite as RunnerTestFile).filepath}\n`);
  }
}

function nameOf(test: RunnerTask): string {
  const names: string[] = [];
  for (let at: RunnerTask | undefined = test; at; at = at.suite) names.unshift(at.name);
  return `${test.file.name} > ${names.join(' > ')}`.replaceAll('\n', ' ');
}
