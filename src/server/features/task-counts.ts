/** Number of running and stored tasks per client of a session. */

/** State of a counted task. `parked`: another process may claim it. */
type CountedState = 'running' | 'ended' | 'cancelled' | 'parked';

/** A count of tasks. */
export class TaskCount {
  kept = 0;
  running = 0;
  /** Cancelled tasks, which are evicted first, oldest first. */
  readonly cancelled = new Set<string>();

  count(taskId: string, state: CountedState, by: 1 | -1): void {
    this.kept += by;
    if (state === 'running') this.running += by;
    if (state !== 'cancelled') return;
    if (by > 0) this.cancelled.add(taskId);
    else this.cancelled.delete(taskId);
  }
}

/** Counts the tasks of one session. */
export class TaskCounts {
  /** The count of all clients. */
  readonly all = new TaskCount();
  readonly #clients = new Map<string, TaskCount>();
  readonly #counted = new Map<string, readonly [party: string | undefined, state: CountedState]>();

  /** Those of one client; see `RequestOrigin.clientKey`. */
  of(party: string): TaskCount {
    return this.#clients.get(party) ?? new TaskCount();
  }

  /** Counts a new, running task. */
  add(taskId: string, party: string | undefined): void {
    this.delete(taskId);
    this.#count(taskId, party, 'running');
  }

  /** Changes the state of a counted task. */
  move(taskId: string, state: CountedState): void {
    const [party] = this.#counted.get(taskId) ?? [];
    if (this.delete(taskId)) this.#count(taskId, party, state);
  }

  /** Stops counting a task. @returns false if it was not counted */
  delete(taskId: string): boolean {
    const counted = this.#counted.get(taskId);
    if (!counted) return false;
    const [party, state] = counted;
    this.#counted.delete(taskId);
    for (const tally of this.#countsOf(party)) tally.count(taskId, state, -1);
    if (party !== undefined && this.of(party).kept === 0) this.#clients.delete(party);
    return true;
  }

  #count(taskId: string, party: string | undefined, state: CountedState): void {
    this.#counted.set(taskId, [party, state]);
    for (const tally of this.#countsOf(party)) tally.count(taskId, state, 1);
  }

  #countsOf(party: string | undefined): readonly TaskCount[] {
    if (party === undefined) return [this.all];
    const own = this.of(party);
    this.#clients.set(party, own);
    return [this.all, own];
  }
}
