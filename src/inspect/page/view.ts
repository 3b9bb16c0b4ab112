/** What every part of the page is drawn from. */
import type { SnapshotFrom } from 'xstate';
import type { Model, ShownSession } from './model.ts';
import type { PageMachineEvent, pageMachine } from './page.machine.ts';

export interface View {
  /** What was chosen, and how it is shown. */
  readonly page: SnapshotFrom<typeof pageMachine>;
  readonly model: Model;
  readonly send: (event: PageMachineEvent) => void;
  /** The moment that ages are drawn for, by `performance.now()`. */
  readonly now: number;
}

/** What the parts of one session are drawn from. */
export interface SessionView extends View {
  readonly session: ShownSession;
  /** Since the dump was made, milliseconds; 0 after the end. */
  readonly elapsedMs: number;
}
