/**
 * Runs each test once as it is, and then once for each fault that it reaches and that no test has noticed. What comes of each
 * is a line of the journal, so that a worker that hangs or dies is followed by one that goes on.
 */
import { appendFileSync } from 'node:fs';
import { TestRunner } from 'vitest';
import type { RunnerTask, RunnerTestCase, RunnerTestFile, RunnerTestSuite } from 'vitest';
import { faultsOfWorker } from './faults.ts';
import { Journal } from './journal.ts';

const faults = faultsOfWorker();
const journal = new Journal();
const none = -1;

/** A test may replace them. */
const { setTimeout, clearTimeout } = globalThis;
const now = performance.now.bind(performance);

/** Ends a try that passed, so that another follows. */
const again = new Error('The next fault is tried');

/** Errors that no test has caught, and who is told of the next one. */
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
  /** How many tries without a fault there were, and how many are due. */
  #plain = 0;
  #due = 2;
  #startedAt = 0;
  #plainMs = Infinity;
  #strayed = 0;
  /** When the faults of this test have had their time: those that are left have other tests. */
  #until = Infinity;

  override async onBeforeRunTask(test: RunnerTask): Promise<void> {
    await super.onBeforeRunTask(test);
    if (test.mode !== 'run' && test.mode !== 'queued') return;
    if (test.type !== 'test' || test.fails === true || journal.isDone(nameOf(test))) {
      test.mode = 'skip';
      return;
    }
    test.retry = Number.MAX_SAFE_INTEGER;
    this.#waiting = [];
    this.#plain = 0;
    this.#due = 2;
    this.#plainMs = Infinity;
    this.#until = now() + Number(process.env['MUTATE_TEST_MS']);
    journal.read();
  }

  override onBeforeTryTask(test: RunnerTask): void {
    super.onBeforeTryTask(test);
    const isPlain = this.#due > 0;
    this.#awake = isPlain ? none : (this.#waiting.shift() ?? none);
    if (this.#plain === 0) faults.reached.clear();
    this.#strayed = strayed;
    this.#startedAt = now();
    journal.write('try', this.#awake, nameOf(test));
    faults.awake = this.#awake;
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test);
    if (this.#plain === 0) {
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
    if (this.#awake === none) this.#plainMs = Math.min(this.#plainMs, now() - this.#startedAt);
    if (now() > this.#until) this.#waiting = [];
    if (this.#awake === none && this.#plain === 0) {
      this.#waiting = [...faults.reached].filter((each) => journal.isWanted(each, nameOf(test)));
      if (this.#waiting.length > Number(process.env['MUTATE_MOST_FAULTS'])) this.#waiting = [];
      // Nothing is tried, so nobody has to know how long it takes.
      if (this.#waiting.length === 0) this.#due = 1;
    }
    const isLast = this.#due <= 1 && this.#waiting.length === 0;
    if (!isLast && strayed === this.#strayed) throw again;
  }

  onAfterRetryTask(test: RunnerTestCase): void {
    faults.awake = none;
    const errors = (test.result?.errors ?? []).filter(({ message }) => message !== again.message);
    const hasFailed = errors.length > 0 || strayed > this.#strayed;
    // Without an error there would be no next try.
    if (test.result)
      test.result.errors = test.result.state === 'pass' ? [] : [{ message: again.message }];
    if (this.#awake === none) {
      this.#plain += 1;
      this.#due = Math.max(0, this.#due - 1);
      if (!hasFailed) return;
      // What a fault has left behind, or a test that cannot be run twice: another process goes on.
      journal.write(
        'spoilt',
        this.#plain,
        nameOf(test),
        String(errors[0]?.message).slice(0, 200).replaceAll('\n', ' '),
      );
      process.kill(process.pid, 'SIGKILL');
      return;
    }
    journal.write(
      hasFailed ? 'killed' : 'lived',
      this.#awake,
      nameOf(test),
      hasFailed ? String(errors[0]?.message).slice(0, 80).replaceAll('\n', ' ') : '',
    );
    // Whether it leaves anything behind that makes the next ones fail.
    if (hasFailed) this.#due = 1;
    if (hasFailed)
      this.#waiting = this.#waiting.filter((each) => journal.isWanted(each, nameOf(test)));
  }

  override onAfterRunTask(test: RunnerTask): void {
    super.onAfterRunTask(test);
    if (test.mode === 'run' || test.mode === 'queued') journal.write('done', none, nameOf(test));
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
