/** What has come of each fault and each test so far, as lines of a file that the workers and their driver share. */
import { appendFileSync, readFileSync } from 'node:fs';

/** What a test does without a fault. */
export interface Reach {
  readonly ms: number;
  readonly faults: ReadonlySet<number>;
}

/** Read and written by whoever runs. */
export class Journal {
  readonly path: string;
  /** What each test reaches that has been looked at. */
  readonly reaches = new Map<string, Reach>();
  /** Which tests have run a fault and not noticed it. */
  readonly lived = new Map<number, Set<string>>();
  /** By which test. */
  readonly killed = new Map<number, string>();
  /** The test files that have come to their end in this round. */
  readonly files = new Set<string>();
  /** Tests that fail without a fault, and how often they did. */
  readonly spoilt = new Map<string, number>();
  /** Tests that failed without a fault after one that they had noticed. */
  readonly doubtful = new Set<string>();
  /** What is being tried: what hangs, or has ended the process, if nothing follows. */
  trying: { readonly fault: number; readonly test: string } | undefined;
  #read = 0;
  #list: string | undefined;
  /** What these tests had noticed. */
  readonly #doubted = new Set<number>();

  constructor(path = process.env['MUTATE_JOURNAL'] ?? '') {
    this.path = path;
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
   * Begins a run.
   * @param list which faults there are
   * @throws {Error} the journal is about others: their numbers say nothing
   */
  begin(list: string): void {
    if (this.#list !== undefined && this.#list !== list) {
      throw new Error(`${this.path} is about code that has changed since; begin another journal`);
    }
    this.write('begin', 0, list);
  }

  #take(line: string): void {
    const [what, number = '', ...rest] = line.split(' ');
    const [fault, test] = [Number(number), rest.join(' ').split(' | ')[0] ?? ''];
    if (what === 'try') this.trying = { fault, test };
    else if (what !== 'round') this.trying = undefined;
    if (what === 'reach') {
      const faults = numbersOf(rest.join(' ').split(' | ').at(-1) ?? '');
      this.reaches.set(test, { ms: fault, faults });
    }
    if (what === 'lived') {
      this.lived.set(fault, (this.lived.get(fault) ?? new Set()).add(test));
    }
    if (what === 'killed') this.killed.set(fault, test);
    if (what === 'doubt') this.#doubt(fault, test);
    if (what === 'begin') this.#list = test;
    if (what === 'round') this.files.clear();
    if (what === 'file') this.files.add(test);
    if (what === 'spoilt') this.spoilt.set(test, (this.spoilt.get(test) ?? 0) + 1);
  }

  /** Another fault may have spoilt the test before. If it happens again in another process, it was this one. */
  #doubt(fault: number, test: string): void {
    this.doubtful.add(test);
    if (!this.#doubted.has(fault)) this.killed.delete(fault);
    this.#doubted.add(fault);
  }

  write(what: string, fault: number, test: string, why = ''): void {
    appendFileSync(this.path, `${what} ${fault} ${test}${why && ` | ${why}`}\n`);
    if (what !== 'try') this.read();
  }

  /** Whether it was noticed once, and that may have had another cause. */
  isDoubted(fault: number): boolean {
    return this.#doubted.has(fault);
  }

  /** Whether the test can judge: it passes without a fault. */
  isSound(test: string): boolean {
    return (this.spoilt.get(test) ?? 0) < 3;
  }

  /** Whether this test is still to run with it. */
  isWanted(fault: number, test: string): boolean {
    return !this.killed.has(fault) && !this.lived.get(fault)?.has(test);
  }
}

/** Numbers as `0-3,7`. */
export function rangesOf(numbers: Iterable<number>): string {
  const ranges: [from: number, to: number][] = [];
  for (const number of [...numbers].toSorted((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}

function numbersOf(ranges: string): ReadonlySet<number> {
  const numbers = new Set<number>();
  for (const range of ranges.split(',')) {
    const [from = '', to = from] = range.split('-');
    if (from !== '') for (let at = Number(from); at <= Number(to); at++) numbers.add(at);
  }
  return numbers;
}
