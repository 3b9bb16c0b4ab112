/**
 * Operations on the file system, so that one that hangs costs its own thread and no other.
 *
 * Node has four threads for files, and nothing can be done about an operation that waits for a
 * network mount whose server is gone. So a volume that has answered has two of them at most,
 * another one has one, all together have three, and the last one goes only to a volume that
 * answers. An operation that takes too long is given up; it keeps its place until it returns. An
 * operation that would only wait behind such operations is refused at once.
 */
import { systemClock } from '../../../../src/actors/clock.ts';

export interface DiskLanesOptions {
  /** Names the volume that a path lies on: what hangs together. */
  readonly volumeOf: (path: string) => string;
  /** How long an operation may take, from its start, milliseconds. */
  readonly timeoutMs: number;
}

/** How many threads Node has for files, unless the user has asked for more. */
const threads = 4;
/** Operations of a volume at once. */
const maxStarted = { untried: 1, answering: 2, hanging: 2 } as const;
/** An operation on a file takes some microseconds, and on a network some milliseconds. */
const slowMs = 100;
/** Idle volumes are forgotten past this number. */
const maxKnownVolumes = 64;

interface Operation {
  readonly path: string;
  readonly volume: Volume;
  /** Milliseconds, as the system's clock has them. */
  startedAt: number;
  readonly start: () => void;
  readonly giveUp: (why: string) => void;
}

interface Volume {
  readonly name: string;
  readonly waiting: Set<Operation>;
  /** Those that have a thread and may still return in time. */
  readonly running: Set<Operation>;
  /** Those that were given up and have not returned: each still has its thread. */
  readonly overdue: Set<Operation>;
  /**
   * `hanging` has answered before: what hangs may be a link out of it, so that it gets a second
   * chance.
   */
  standing: 'untried' | 'answering' | 'hanging';
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
   * @param discard takes the result of an operation that returns after it was given up
   * @throws {Error} with the code `ETIMEDOUT`: given up, or refused because the volume hangs; else
   *   what the operation throws
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
        const timer = setTimeout(() => this.#expired(operation), timeoutMs);
        const returned = (settle: () => void, settleLate: () => void): void => {
          clearTimeout(timer);
          const isInTime = volume.running.has(operation);
          this.#returned(operation);
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
      const giveUp = (why: string): void => {
        const message = `ETIMEDOUT: ${why}, ${path}`;
        reject(Object.assign(new Error(message), { code: 'ETIMEDOUT' }));
      };
      const operation: Operation = { path, volume, startedAt: 0, start, giveUp };
      volume.waiting.add(operation);
      this.#proceed();
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
      standing: 'untried',
    };
    this.#volumes.set(name, volume);
    return volume;
  }

  #returned(operation: Operation): void {
    const { volume } = operation;
    volume.running.delete(operation);
    volume.overdue.delete(operation);
    if (volume.overdue.size === 0) volume.standing = 'answering';
    const isIdle = started(volume) === 0 && volume.waiting.size === 0;
    if (isIdle && this.#volumes.size > maxKnownVolumes) this.#volumes.delete(volume.name);
    this.#proceed();
  }

  #expired(operation: Operation): void {
    const { volume } = operation;
    volume.running.delete(operation);
    volume.overdue.add(operation);
    if (volume.standing === 'answering') volume.standing = 'hanging';
    operation.giveUp(`not answered within ${this.#options.timeoutMs} ms`);
    this.#proceed();
  }

  /** True while an operation runs that should have returned by now, and may come to hang. */
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

  /** Starts what may start, and refuses what could only wait for what hangs. */
  #proceed(): void {
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
        } else operation.giveUp('operations before it have not returned');
      }
    }
  }

  #mayStart(volume: Volume): boolean {
    const { standing } = volume;
    const total = this.#total(started);
    if (started(volume) === 0 && standing === 'answering') return total < threads;
    return started(volume) < maxStarted[standing] && total < threads - 1;
  }

  /** True if nothing runs whose end could let an operation on this volume start. */
  #isStuck(volume: Volume): boolean {
    if (volume.overdue.size >= maxStarted[volume.standing]) return true;
    return this.#total(({ running }) => running.size) === 0;
  }

  #total(of: (volume: Volume) => number): number {
    let total = 0;
    for (const volume of this.#volumes.values()) total += of(volume);
    return total;
  }
}

/** How many have a thread. */
function started({ running, overdue }: Volume): number {
  return running.size + overdue.size;
}
