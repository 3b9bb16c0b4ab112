/** Progress of a durable call. Each report is stored before it is sent, so progress never decreases across processes. */
import type { ProgressReport } from '../../../src/protocol/dialects/dialect.ts';
import { stepKeys } from './step-history.ts';
import type { ProgressStep } from './step-history.ts';
import type { TaskStep } from './task-store.ts';

type Send = (report: ProgressReport) => void;

export class RecordedProgress {
  readonly #record: (step: TaskStep) => Promise<boolean>;
  #reached: number;
  /** Prefix of the first message after a restart. */
  #resumption: string | undefined;
  #unwritten: { readonly report: ProgressReport; readonly send: Send } | undefined = undefined;
  #writing: Promise<void> | undefined = undefined;

  /**
   * @param earlier progress stored by an earlier process
   * @param record stores a step; resolves to false if this process no longer owns the call
   */
  constructor(earlier: ProgressStep | undefined, record: (step: TaskStep) => Promise<boolean>) {
    this.#record = record;
    this.#reached = earlier?.progress ?? -Infinity;
    this.#resumption = earlier && resumptionOf(earlier);
  }

  /** Settles once all progress reported so far is sent. */
  get settled(): Promise<void> | undefined {
    return this.#writing;
  }

  /** Stores and sends a report. Reports that wait for the store are coalesced to the last. */
  report(report: ProgressReport, send: Send): void {
    // A replayed handler repeats reports that its host has received.
    if (report.progress <= this.#reached) return;
    this.#reached = report.progress;
    this.#unwritten = { report, send };
    this.#writing ??= this.#write();
  }

  async #write(): Promise<void> {
    for (let next = this.#unwritten; next; next = this.#unwritten) {
      this.#unwritten = undefined;
      const { report, send } = next;
      const { progress, total } = report;
      const text = JSON.stringify({ progress, total } satisfies ProgressStep);
      if (!(await this.#record({ key: stepKeys.progress, text }))) break;
      send(this.#stated(report));
    }
    this.#writing = undefined;
  }

  #stated(report: ProgressReport): ProgressReport {
    const resumption = this.#resumption;
    this.#resumption = undefined;
    if (resumption === undefined) return report;
    const { message } = report;
    return { ...report, message: message === undefined ? resumption : `${resumption}: ${message}` };
  }
}

/** Message that names where a call was resumed, if its progress counts steps. */
function resumptionOf({ progress, total }: ProgressStep): string {
  const isCounted = Number.isInteger(progress) && Number.isInteger(total);
  return isCounted ? `Resumed at step ${progress} of ${total}` : 'Resumed';
}
