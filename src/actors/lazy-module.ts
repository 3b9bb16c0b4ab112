const all: LazyModule<unknown>[] = [];

/** Loads all code that would be loaded later, so that no first use takes longer than others, as in a replay. */
export async function loadLazyModules(): Promise<void> {
  await Promise.all(all.map((each) => each.load()));
}

/** Code that a process loads when something first needs it. */
export class LazyModule<T> {
  readonly #import: () => Promise<T>;
  #loading: Promise<T> | undefined;
  /** The code, once loaded. */
  loaded: T | undefined = undefined;

  constructor(load: () => Promise<T>) {
    this.#import = load;
    all.push(this);
  }

  /** Rejects if the code cannot be loaded, each time. */
  load(): Promise<T> {
    return (this.#loading ??= this.#import().then((loaded) => (this.loaded = loaded)));
  }

  /** Begins to load. A failure is reported to whoever calls {@link load} or {@link with}. */
  preload(): void {
    this.load().catch(() => {});
  }

  /** Runs with the code: at once if it is loaded. */
  with<R>(run: (loaded: T) => R): R | Promise<Awaited<R>> {
    const { loaded: now } = this;
    return now === undefined ? (this.load().then(run) as Promise<Awaited<R>>) : run(now);
  }
}
