/**
 * A module in development: its serving code, a newer version being loaded, and older versions with
 * pending calls.
 */
import { randomBytes } from 'node:crypto';
import { createActor } from 'xstate';
import { defaultLimits } from 'mcp-actors';
import { textOfError } from 'mcp-actors/internal';
import { Code, CodeError } from './code.ts';
import type { CodeSetup } from './code.ts';
import { developmentOf } from './development.machine.ts';
import type { DevelopmentRef } from './development.machine.ts';
import { offerOf } from './offer.ts';
import type { Offer } from './offer.ts';
import { Sources } from './sources.ts';

/** Maximum number of older versions with pending calls. */
const maxOlder = 4;

/** Interval of probing older versions, milliseconds. */
const probeIntervalMs = 5000;

/**
 * Delay before starting the spare process after a load, so that waiting calls are served first,
 * milliseconds.
 */
const warmAfterMs = 1000;

/** Listener to a module in development. */
export interface DevelopmentListener {
  /** New code serves. */
  exchanged?(code: Code): void;
  /** These lists differ from the previous code's. */
  changed?(methods: readonly string[]): void;
  /** The latest code cannot be loaded, or ended unexpectedly. */
  failed?(fault: Error): void;
  /** The version has no pending calls, and its process is ended. */
  ended?(code: Code): void;
}

/** Current code and problem. */
export interface CodeStatus {
  readonly code: Code | undefined;
  /** Problem of newer code. */
  readonly fault: Error | undefined;
}

export class Development {
  readonly #setup: CodeSetup;
  readonly #actor: DevelopmentRef;
  readonly #sources = new Sources(() => this.#actor.send({ type: 'source.changed' }));
  readonly #listeners = new Set<DevelopmentListener>();
  /** Process started in advance for the next change. */
  #spare: Code | undefined = undefined;
  /** Replaced versions, oldest first, with the timers of their deadlines. */
  readonly #older = new Map<Code, NodeJS.Timeout>();
  /** Number of calls using each version. */
  readonly #holds = new Map<Code, number>();
  #offer: Offer | undefined = undefined;
  #offered: Promise<void> = Promise.resolve();
  readonly #probing: NodeJS.Timeout;

  constructor(setup: Omit<CodeSetup, 'stateKeys'>) {
    this.#setup = { ...setup, stateKeys: randomBytes(32).toString('hex') };
    this.#actor = createActor(developmentOf((signal) => this.#load(signal)));
    this.#actor.subscribe({
      error: (error) => {
        const message = `The module is no longer reloaded: ${textOfError(error)}`;
        setup.report({ level: 'error', name: 'dev.failed', message, details: { error } });
      },
    });
    let { code, fault } = this.#actor.getSnapshot().context;
    this.#actor.subscribe(({ context }) => {
      if (context.fault && context.fault !== fault)
        this.#tell((each) => each.failed?.(context.fault as Error));
      const before = code;
      ({ code, fault } = context);
      if (code && code !== before) this.#exchanged(code);
      if (before && code !== before) this.#retire(before);
    });
    this.#probing = setInterval(() => {
      for (const each of this.#older.keys()) void each.probe();
    }, probeIntervalMs).unref();
    this.#actor.start();
  }

  listen(listener: DevelopmentListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Waits until the latest code is loaded. Also detects changes that no watcher reported. */
  async newest(): Promise<CodeStatus> {
    const snapshot = this.#actor.getSnapshot();
    if (snapshot.matches('lost')) this.#actor.send({ type: 'code.wanted' });
    else if (!snapshot.hasTag('loading') && this.#sources.isOutdated) {
      this.#actor.send({ type: 'source.changed' });
    }
    await this.#settled();
    return this.#actor.getSnapshot().context;
  }

  get current(): Code | undefined {
    return this.#actor.getSnapshot().context.code;
  }

  /** Lists and capabilities of the code, once known; undefined if there is none. */
  async offer(): Promise<Offer | undefined> {
    await this.newest();
    await this.#offered;
    return this.#offer;
  }

  /** Keeps a version alive until the returned function is called. */
  hold(code: Code): () => void {
    this.#holds.set(code, (this.#holds.get(code) ?? 0) + 1);
    let release = () => {
      release = () => {};
      const left = (this.#holds.get(code) ?? 1) - 1;
      if (left > 0) return void this.#holds.set(code, left);
      this.#holds.delete(code);
      if (this.#older.has(code)) this.#end(code);
    };
    return () => release();
  }

  /** True if a version can still serve. */
  has(code: Code): boolean {
    return code === this.current || this.#older.has(code);
  }

  close(): void {
    const { current } = this;
    this.#actor.send({ type: 'development.end' });
    clearInterval(this.#probing);
    this.#sources.close();
    this.#spare?.end();
    for (const timer of this.#older.values()) clearTimeout(timer);
    for (const code of [...this.#older.keys(), ...(current ? [current] : [])]) code.end();
    this.#listeners.clear();
  }

  async #load(signal: AbortSignal): Promise<Code> {
    const since = Date.now();
    const code = this.#spare ?? new Code(this.#setup);
    this.#spare = undefined;
    this.#sources.loading([this.#setup.file, ...(this.current?.loaded.files ?? [])]);
    try {
      await code.load(signal);
    } catch (error) {
      if (!signal.aborted && error instanceof CodeError) {
        this.#follow(error.files, since, true);
        this.#warm();
      }
      throw error;
    }
    if (signal.aborted) {
      code.end();
      throw new CodeError({ message: 'Superseded by newer code', files: [] });
    }
    this.#follow(code.loaded.files, since, false);
    this.#warm();
    return code;
  }

  #follow(files: readonly string[], since: number, isFaulty: boolean): void {
    if (this.#sources.loaded(files, since, isFaulty)) return;
    // Let the machine process the result of this load first.
    setImmediate(() => this.#actor.send({ type: 'source.changed' }));
  }

  /** Starts the spare process for the next change. */
  #warm(): void {
    setTimeout(() => {
      if (this.#actor.getSnapshot().status === 'active') this.#spare ??= new Code(this.#setup);
    }, warmAfterMs).unref();
  }

  /** Waits for loading, which has its own timeout, so that no call is answered by old code. */
  #settled(): Promise<void> {
    if (!this.#actor.getSnapshot().hasTag('loading')) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        subscription.unsubscribe();
        resolve();
      };
      const subscription = this.#actor.subscribe({
        next: (snapshot) => !snapshot.hasTag('loading') && end(),
        complete: end,
      });
    });
  }

  #exchanged(code: Code): void {
    void code.gone.then((how) => {
      this.#forget(code);
      if (this.current !== code) return;
      const fault = new Error(`The process of ${this.#setup.file} ${how}`);
      this.#actor.send({ type: 'code.lost', fault });
    });
    this.#tell((each) => each.exchanged?.(code));
    const before = this.#offer;
    this.#offered = offerOf(code, this.#setup.report).then(
      (offer) => {
        if (this.current !== code) return;
        this.#offer = offer;
        const methods = offer.differencesFrom(before);
        if (methods.length > 0) this.#tell((each) => each.changed?.(methods));
      },
      (error: unknown) => {
        // The end of the process is reported separately.
        if (!this.has(code) || code.hasEnded) return;
        const fault = new Error(`Its lists cannot be read: ${textOfError(error)}`, {
          cause: error,
        });
        this.#tell((each) => each.failed?.(fault));
      },
    );
  }

  #retire(code: Code): void {
    if (!this.#holds.has(code)) return this.#end(code);
    const end = () => this.#end(code);
    this.#older.set(code, setTimeout(end, defaultLimits.suspendedCallTimeoutMs).unref());
    const [oldest] = this.#older.keys();
    if (oldest && this.#older.size > maxOlder) this.#end(oldest);
  }

  #end(code: Code): void {
    this.#forget(code);
    code.end();
  }

  #forget(code: Code): void {
    clearTimeout(this.#older.get(code));
    this.#older.delete(code);
    this.#holds.delete(code);
    this.#tell((each) => each.ended?.(code));
  }

  #tell(tell: (listener: DevelopmentListener) => void): void {
    for (const listener of [...this.#listeners]) tell(listener);
  }
}
