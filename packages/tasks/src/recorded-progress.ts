/** Progress of a durable call: recorded, then sent, so it never runs backwards, whichever process the call continues in. */
import type { ProgressReport } from '../../../src/protocol/dialects/dialect.ts';
import { stepKeys } from './written-steps.ts';
import type { ProgressStep } from './written-steps.ts';
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
   * @param earlier the progress that an earlier process has recorded
   * @param record resolves to false if the call is no longer this process's
   */
  constructor(earlier: ProgressStep | undefined, record: (step: TaskStep) => Promise<boolean>) {
    this.#record = record;
    this.#reached = earlier?.progress ?? -Infinity;
    this.#resumption = earlier && resumptionOf(earlier);
  }

  /** Settles once everything reported so far is sent. */
  get settled(): Promise<void> | undefined {
    return this.#writing;
  }

  /** Of several reports that wait for the store, the last is enough. */
  report(report: ProgressReport, send: Send): void {
    // A handler that is run again repeats what its host has seen.
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

/** Says where a call was resumed, if its progress counts steps. */
function resumptionOf({ progress, total }: ProgressStep): string {
  const isCounted = Number.isInteger(progress) && Number.isInteger(total);
  return isCounted ? `Resumed at step ${progress} of ${total}` : 'Resumed';
}
