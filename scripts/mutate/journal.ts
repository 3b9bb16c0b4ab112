/** What has come of each fault and each test so far, as lines of a file that the workers and their driver share. */
import { appendFileSync, readFileSync } from 'node:fs';

/** Read and written by whoever runs. */
export class Journal {
  readonly path: string;
  /** Which tests have run a fault and not noticed it. */
  readonly lived = new Map<number, Set<string>>();
  /** By which test. */
  readonly killed = new Map<number, string>();
  readonly done = new Set<string>();
  readonly files = new Set<string>();
  /** Tests that fail without a fault, and how often they did. */
  readonly spoilt = new Map<string, number>();
  /** The last try, which is the one that hangs if nothing follows. */
  last: { readonly fault: number; readonly test: string } | undefined;
  #read = 0;
  #list: string | undefined;
  #chosen: string | undefined;
  readonly #most: number;
  readonly #only: ReadonlySet<number> | undefined;

  constructor(
    path = process.env['MUTATE_JOURNAL'] ?? '',
    most = Number(process.env['MUTATE_MOST_TESTS']),
  ) {
    this.path = path;
    this.#most = most;
    const only = process.env['MUTATE_ONLY'];
    if (only !== undefined) this.#only = new Set(only.split(',').map(Number));
    this.read();
  }

  /** What others have written in the meantime. */
  read(): void {
    const text = readFileSync(this.path, 'utf8');
    const end = text.lastIndexOf('\n') + 1;
    for (const line of text.slice(this.#read, end).split('\n')) this.#take(line);
    this.#read = end;
  }

  /**
   * Begins a run, which asks all tests again if it is about others of the faults.
   * @param list which faults there are
   * @param chosen which of them the run is about
   * @throws {Error} it is about other faults: their numbers say nothing
   */
  begin(list: string, chosen: string): void {
    if (this.#list !== undefined && this.#list !== list) {
      throw new Error(`${this.path} is about code that has changed since; begin another journal`);
    }
    this.write('begin', 0, `${list} ${chosen}`);
  }

  #take(line: string): void {
    const [what, number = '', ...rest] = line.split(' ');
    const [fault, test] = [Number(number), rest.join(' ').split(' | ')[0] ?? ''];
    if (what === 'try') this.last = { fault, test };
    if (what === 'lived') {
      this.lived.set(fault, (this.lived.get(fault) ?? new Set()).add(test));
    }
    if (what === 'killed') this.killed.set(fault, rest.join(' '));
    if (what === 'begin') {
      const [list = '', chosen = ''] = test.split(' ');
      if (chosen !== this.#chosen) {
        this.done.clear();
        this.files.clear();
      }
      [this.#list, this.#chosen] = [list, chosen];
    }
    if (what === 'done') this.done.add(test);
    if (what === 'file') this.files.add(test);
    if (what === 'spoilt') this.spoilt.set(test, (this.spoilt.get(test) ?? 0) + 1);
  }

  write(what: string, fault: number, test: string, why = ''): void {
    appendFileSync(this.path, `${what} ${fault} ${test}${why && ` | ${why}`}\n`);
    if (what !== 'try') this.read();
  }

  isDone(test: string): boolean {
    return this.done.has(test) || (this.spoilt.get(test) ?? 0) > 2;
  }

  /** Whether this test is to run with it. */
  isWanted(fault: number, test: string): boolean {
    if (this.#only && !this.#only.has(fault)) return false;
    const lived = this.lived.get(fault);
    return !this.killed.has(fault) && (lived?.size ?? 0) < this.#most && !lived?.has(test);
  }
}
