const all: LazyModule<unknown>[] = [];

/** Loads all lazy modules now, so that a replay is not slowed down by the first use of one. */
export async function loadLazyModules(): Promise<void> {
  await Promise.all(all.map((each) => each.load()));
}

/** A module that is imported on first use. */
export class LazyModule<T> {
  readonly #import: () => Promise<T>;
  #loading: Promise<T> | undefined;
  /** The module; undefined until loaded. */
  loaded: T | undefined = undefined;

  constructor(load: () => Promise<T>) {
    this.#import = load;
    all.push(this);
  }

  /** Imports the module once. Rejects if the import fails, on every call. */
  load(): Promise<T> {
    return (this.#loading ??= this.#import().then((loaded) => (this.loaded = loaded)));
  }

  /** Starts the import. A failure surfaces in {@link load} and {@link with}. */
  preload(): void {
    this.load().catch(() => {});
  }

  /** Calls `run` with the module: synchronously if it is already loaded. */
  with<R>(run: (loaded: T) => R): R | Promise<Awaited<R>> {
    const { loaded } = this;
    return loaded === undefined ? (this.load().then(run) as Promise<Awaited<R>>) : run(loaded);
  }
}
