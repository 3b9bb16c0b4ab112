/** Results per fault and test, as lines of a file shared by the workers and their driver. */
import { appendFileSync, readFileSync } from 'node:fs';

/** Behaviour of a test without a fault. */
export interface Reach {
  readonly ms: number;
  readonly faults: ReadonlySet<number>;
}

/** Read and written by all processes. */
export class Journal {
  readonly path: string;
  /** Faults reached by each examined test. */
  readonly reaches = new Map<string, Reach>();
  /** Tests that ran a fault without noticing it. */
  readonly lived = new Map<number, Set<string>>();
  /** The test that noticed each fault. */
  readonly killed = new Map<number, string>();
  /** Test files finished in this round. */
  readonly files = new Set<string>();
  /** Tests that fail without a fault, with the number of failures. */
  readonly spoilt = new Map<string, number>();
  /** Tests that failed without a fault after one that they had noticed. */
  readonly doubtful = new Set<string>();
  /** The trial in progress; if nothing follows, it hung or ended the process. */
  trying: { readonly fault: number; readonly test: string } | undefined;
  #read = 0;
  #list: string | undefined;
  /** Faults noticed by the doubtful tests. */
  readonly #doubted = new Set<number>();

  constructor(path = process.env['MUTATE_JOURNAL'] ?? '') {
    this.path = path;
    this.read();
  }

  /** Reads lines written by others. */
  read(): void {
    const text = readFileSync(this.path, 'utf8');
    const end = text.lastIndexOf('\n') + 1;
    for (const line of text.slice(this.#read, end).split('\n')) this.#take(line);
    this.#read = end;
  }

  /**
   * Begins a run.
   * @param list the faults
   * @throws {Error} if the journal belongs to other faults, whose numbers differ
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

  /**
   * An earlier fault may have broken the test. If it recurs in another process, this fault is the
   * cause.
   */
  #doubt(fault: number, test: string): void {
    this.doubtful.add(test);
    if (!this.#doubted.has(fault)) this.killed.delete(fault);
    this.#doubted.add(fault);
  }

  write(what: string, fault: number, test: string, why = ''): void {
    appendFileSync(this.path, `${what} ${fault} ${test}${why && ` | ${why}`}\n`);
    if (what !== 'try') this.read();
  }

  /** True if it was noticed once, possibly for another reason. */
  isDoubted(fault: number): boolean {
    return this.#doubted.has(fault);
  }

  /** True if the test passes without a fault, so that it can judge. */
  isSound(test: string): boolean {
    return (this.spoilt.get(test) ?? 0) < 3;
  }

  /** True if this test has yet to run with the fault. */
  isWanted(fault: number, test: string): boolean {
    return !this.killed.has(fault) && !this.lived.get(fault)?.has(test);
  }
}

/** Formats numbers as `0-3,7`. */
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
