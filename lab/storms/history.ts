/** Ordered events of a storm, and violations among them. */
import { MachineTime } from '../../test/tooling/machine-time.ts';

interface Entry {
  readonly at: number;
  readonly text: string;
}

/** Stderr lines shown with a violation. */
const shownLines = 60;

/** Part of the history shown around a violation, ms before and after. */
const shownMs = { before: 3000, after: 500 };

export class History {
  readonly #time = new MachineTime();
  readonly #entries: Entry[] = [];
  readonly #violations: Entry[] = [];
  readonly #said: string[] = [];

  /** Time since the beginning during which this process was running, ms. */
  get now(): number {
    return this.#time.now;
  }

  write(text: string): void {
    this.#entries.push({ at: this.now, text });
  }

  /** Records a violation of the documentation. */
  accuse(text: string): void {
    const entry = { at: this.now, text: `VIOLATION ${text}` };
    this.#entries.push(entry);
    this.#violations.push(entry);
  }

  /** Records stderr of a node. */
  quote(node: string, stderr: string): void {
    const lines = stderr.split('\n').filter((line) => line !== '');
    this.#said.push(...lines.slice(-shownLines).map((line) => `${node}: ${line}`));
  }

  get violations(): readonly string[] {
    return this.#violations.map(shown);
  }

  /** The first violation with its surrounding events. */
  get report(): string {
    const [first] = this.#violations;
    if (!first) return '';
    const near = this.#entries.filter(
      ({ at }) => at > first.at - shownMs.before && at < first.at + shownMs.after,
    );
    const parts = [near.map(shown), ['', 'The nodes wrote:'], this.#said];
    return [...parts.flat(), '', 'All violations:', ...this.violations].join('\n');
  }
}

const shown = ({ at, text }: Entry): string => `${at.toFixed(0).padStart(7)} ms  ${text}`;
