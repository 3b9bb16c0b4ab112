/**
 * Limits on concurrent file operations, so that a hanging volume blocks only its own threads.
 *
 * Node has four file threads, and an operation on a network mount whose server is gone cannot be
 * cancelled. A volume that has answered may use two threads, any other volume one. All volumes
 * together may use three; only a volume that answers may use the fourth. An operation that exceeds
 * its timeout is rejected but occupies its thread until it returns. An operation that could only
 * wait behind such operations is rejected immediately.
 */
import { systemClock } from '../../../../src/actors/clock.ts';

export interface DiskLanesOptions {
  /** Returns the name of a path's volume. Paths on one volume hang together. */
  readonly volumeOf: (path: string) => string;
  /** Timeout of one operation, measured from its start, milliseconds. */
  readonly timeoutMs: number;
}

/** Size of Node's file thread pool, unless the user set `UV_THREADPOOL_SIZE`. */
const threads = 4;
/** Concurrent operations of one volume. */
const maxStarted = { untried: 1, answering: 2, hanging: 2 } as const;
/** A file operation normally takes microseconds, or a few milliseconds over a network. */
const slowMs = 100;
/** Number of volumes above which idle ones are dropped. */
const maxKnownVolumes = 64;

interface Operation {
  readonly path: string;
  readonly volume: Volume;
  /** Start time, milliseconds of `systemClock`. */
  startedAt: number;
  readonly start: () => void;
  readonly abandon: (why: string) => void;
}

interface Volume {
  readonly name: string;
  readonly waiting: Set<Operation>;
  /** Operations that occupy a thread and have not timed out. */
  readonly running: Set<Operation>;
  /** Operations that timed out but still occupy a thread. */
  readonly overdue: Set<Operation>;
  /**
   * `hanging`: answered before and now times out. It keeps two threads, because the cause may be a
   * symbolic link that leaves the volume.
   */
  status: 'untried' | 'answering' | 'hanging';
}

export class DiskLanes {
  readonly #options: DiskLanesOptions;
  readonly #volumes = new Map<string, Volume>();

  constructor(options: DiskLanesOptions) {
    this.#options = options;
  }

  /**
   * Runs an operation on a path.
   *
   * @param discard receives the result of an operation that returns after its timeout
   * @throws {Error} with code `ETIMEDOUT` if the operation timed out or its volume hangs; otherwise
   *   the operation's own error
   */
  async run<T>(
    path: string,
    operate: () => Promise<T>,
    discard: (late: T) => void = () => {},
  ): Promise<T> {
    const { volumeOf, timeoutMs } = this.#options;
    const volume = this.#volume(volumeOf(path));
    return await new Promise<T>((resolve, reject) => {
      const start = (): void => {
        const timer = setTimeout(() => this.#onTimeout(operation), timeoutMs);
        const returned = (settle: () => void, settleLate: () => void): void => {
          clearTimeout(timer);
          const isInTime = volume.running.has(operation);
          this.#onReturn(operation);
          if (isInTime) settle();
          else settleLate();
        };
        void operate().then(
          (result) =>
            returned(
              () => resolve(result),
              () => discard(result),
            ),
          (error: unknown) =>
            returned(
              () => reject(error as Error),
              () => {},
            ),
        );
      };
      const abandon = (why: string): void => {
        const message = `ETIMEDOUT: ${why}, ${path}`;
        reject(Object.assign(new Error(message), { code: 'ETIMEDOUT' }));
      };
      const operation: Operation = { path, volume, startedAt: 0, start, abandon };
      volume.waiting.add(operation);
      this.#startWaiting();
    });
  }

  #volume(name: string): Volume {
    const known = this.#volumes.get(name);
    if (known !== undefined) return known;
    const volume: Volume = {
      name,
      waiting: new Set(),
      running: new Set(),
      overdue: new Set(),
      status: 'untried',
    };
    this.#volumes.set(name, volume);
    return volume;
  }

  #onReturn(operation: Operation): void {
    const { volume } = operation;
    volume.running.delete(operation);
    volume.overdue.delete(operation);
    if (volume.overdue.size === 0) volume.status = 'answering';
    const isIdle = threadsOf(volume) === 0 && volume.waiting.size === 0;
    if (isIdle && this.#volumes.size > maxKnownVolumes) this.#volumes.delete(volume.name);
    this.#startWaiting();
  }

  #onTimeout(operation: Operation): void {
    const { volume } = operation;
    volume.running.delete(operation);
    volume.overdue.add(operation);
    if (volume.status === 'answering') volume.status = 'hanging';
    operation.abandon(`no answer within ${this.#options.timeoutMs} ms`);
    this.#startWaiting();
  }

  /** True while any operation runs longer than `slowMs`. */
  get isSlow(): boolean {
    const since = systemClock.now() - slowMs;
    return (
      this.#total(({ running, overdue }) => {
        let slow = 0;
        for (const { startedAt } of running) slow += startedAt < since ? 1 : 0;
        for (const { startedAt } of overdue) slow += startedAt < since ? 1 : 0;
        return slow;
      }) > 0
    );
  }

  /** Starts operations that fit, and rejects those that could only wait for hanging ones. */
  #startWaiting(): void {
    for (const volume of this.#volumes.values()) {
      for (const operation of volume.waiting) {
        const isSameHanging = [...volume.overdue].some(({ path }) => path === operation.path);
        const mayStart = !isSameHanging && this.#mayStart(volume);
        if (!mayStart && !isSameHanging && !this.#isStuck(volume)) break;
        volume.waiting.delete(operation);
        if (mayStart) {
          operation.startedAt = systemClock.now();
          volume.running.add(operation);
          operation.start();
        } else operation.abandon('earlier operations on this volume have not returned');
      }
    }
  }

  #mayStart(volume: Volume): boolean {
    const { status } = volume;
    const total = this.#total(threadsOf);
    if (threadsOf(volume) === 0 && status === 'answering') return total < threads;
    return threadsOf(volume) < maxStarted[status] && total < threads - 1;
  }

  /** True if no running operation could make room for one on this volume. */
  #isStuck(volume: Volume): boolean {
    if (volume.overdue.size >= maxStarted[volume.status]) return true;
    return this.#total(({ running }) => running.size) === 0;
  }

  #total(of: (volume: Volume) => number): number {
    let total = 0;
    for (const volume of this.#volumes.values()) total += of(volume);
    return total;
  }
}

/** Number of threads that a volume occupies. */
function threadsOf({ running, overdue }: Volume): number {
  return running.size + overdue.size;
}
