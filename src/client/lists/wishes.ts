/**
 * What a host wants of its server on every channel, until it says otherwise: to hear of changes of
 * resources, and log messages of a level.
 *
 * @see MCP 2025-11-25, server/resources, "Subscriptions"
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import type { MachineActor } from '../../actors/transitions.ts';
import { waitFor } from '../../actors/waiting.ts';
import type { WaitEnd } from '../../actors/waiting.ts';
import { describe } from '../../protocol/classify.ts';
import { RuntimeError, textOfError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { LogLevel } from '../../protocol/log-levels.ts';
import type { OwnRequestOptions } from './ask-list.ts';
import { Subscription } from './listening.ts';
import type { ListeningPort } from './listening.ts';

/** The connection, as the wishes see it. */
export interface WishesHost extends ListeningPort {
  /** Hears what could not be kept up. */
  readonly problem: (
    name: 'subscription.lost' | 'subscription.cut' | 'logging.lost',
    message: string,
  ) => void;
}

/** How a wish is sent. */
export interface WishOptions extends Omit<OwnRequestOptions, 'sent'> {
  readonly timeoutMs: number;
}

/** How the server of the present channel takes wishes; `away`: there is none. */
type Taking =
  | { readonly way: 'away' }
  /** By requests, until 2025-11-25. */
  | { readonly way: 'requests' }
  /** By one subscription for all resources, and by the envelope of each request. */
  | {
      readonly way: 'listening';
      readonly open: Subscription | undefined;
      /** With the resources that are wanted by now; it takes the place of the open one. */
      readonly next: Subscription | undefined;
    };

interface Waiter {
  readonly uri: string;
  settle(error?: RuntimeError): void;
}

/** What is asked anew is not kept for later: with the next channel it is asked anew again. */
const restoring = { whenAway: 'refuse' } as const;

function isLost(error: unknown): boolean {
  return error instanceof RuntimeError && (error.code === 'CLOSED' || error.code === 'NOT_READY');
}

export class Wishes {
  readonly #host: WishesHost;
  readonly #uris = new Set<string>();
  readonly #waiting = new Set<Waiter>();
  #taking: Taking = { way: 'away' };
  #logLevel: LogLevel | undefined = undefined;
  /** What is wanted in one turn is asked for together. */
  #renewal: 'none' | 'due' = 'none';

  constructor(host: WishesHost) {
    this.#host = host;
  }

  /** The resources that are watched. */
  get uris(): readonly string[] {
    return [...this.#uris];
  }

  /** The charts of its subscriptions, as they stand. */
  get machines(): readonly MachineActor[] {
    const taking = this.#taking;
    if (taking.way !== 'listening') return [];
    const { open, next } = taking;
    return [open, next].flatMap((subscription) => (subscription ? [subscription.machine] : []));
  }

  /** What each request of 2026-07-28 says in its envelope. */
  get logLevel(): LogLevel | undefined {
    return this.#logLevel;
  }

  /**
   * Watches a resource. Resolves once the server has agreed.
   *
   * @param era of the server, if it is known
   * @throws what the server has answered; {RuntimeError} CAPABILITY_MISSING, REQUEST_TIMEOUT,
   *   CANCELLED
   */
  async subscribe(
    uri: string,
    era: 'legacy' | 'modern' | undefined,
    options: WishOptions,
  ): Promise<void> {
    if (era === 'modern') return this.#listenTo(uri, options);
    await this.#host.request('resources/subscribe', { uri }, options);
    this.#uris.add(uri);
  }

  /** Watches it no more. While the server is away, there is nothing to undo. */
  async unsubscribe(uri: string, options: WishOptions): Promise<void> {
    const isWatched = this.#uris.delete(uri);
    const { way } = this.#taking;
    if (way === 'listening' && isWatched) this.#renew();
    if (way === 'requests') await this.#host.request('resources/unsubscribe', { uri }, options);
  }

  /** Sets the least severe level that is wanted. */
  async setLogLevel(
    level: LogLevel,
    era: 'legacy' | 'modern' | undefined,
    options: WishOptions,
  ): Promise<void> {
    if (era !== 'modern') await this.#host.request('logging/setLevel', { level }, options);
    this.#logLevel = level;
  }

  /** A channel is ready: what was wanted of the one before is wanted of it. */
  opened(era: 'legacy' | 'modern'): void {
    this.closed();
    if (era === 'modern') {
      this.#taking = { way: 'listening', open: undefined, next: undefined };
      // At once: what the host asks on the new channel is asked behind it.
      if (this.#uris.size > 0) this.#open([...this.#uris], undefined);
      return;
    }
    this.#taking = { way: 'requests' };
    for (const uri of this.#uris) this.#restore(uri);
    const level = this.#logLevel;
    if (level === undefined) return;
    this.#host.request('logging/setLevel', { level }, restoring).catch((error: unknown) => {
      if (isLost(error)) return;
      const message = `The log level ${level} was not set again: ${textOfError(error)}`;
      this.#host.problem('logging.lost', message);
    });
  }

  /** The channel is no more. */
  closed(): void {
    if (this.#taking.way === 'listening') {
      this.#taking.open?.stop();
      this.#taking.next?.stop();
    }
    this.#taking = { way: 'away' };
  }

  /** There will be no channel for now: whoever waits hears why. */
  refuse(error: RuntimeError): void {
    for (const waiter of this.#waiting) waiter.settle(error);
  }

  /** Nothing is watched any more. */
  end(error: RuntimeError): void {
    this.closed();
    this.refuse(error);
  }

  /** Takes `notifications/subscriptions/acknowledged`, if it is one of these. */
  acknowledged(params: JsonObject | undefined): void {
    if (this.#taking.way !== 'listening') return;
    const { open, next } = this.#taking;
    if (!next?.acknowledged(params)) open?.acknowledged(params);
  }

  #restore(uri: string): void {
    this.#host.request('resources/subscribe', { uri }, restoring).catch((error: unknown) => {
      if (isLost(error)) return;
      this.#uris.delete(uri);
      const message = `${describe(uri)} is not watched any more: ${textOfError(error)}`;
      this.#host.problem('subscription.lost', message);
    });
  }

  #listenTo(uri: string, { timeoutMs, signal }: WishOptions): Promise<void> {
    if (this.#uris.has(uri) && this.#waitersFor(uri).length === 0) return Promise.resolve();
    const cancelled = (cause: unknown): RuntimeError =>
      new RuntimeError('CANCELLED', `Watching ${describe(uri)} was cancelled`, { cause });
    if (signal?.aborted) return Promise.reject(cancelled(signal.reason));
    const overdue = ({ reject }: WaitEnd<void>): void => {
      const message = `The server has not agreed to tell of ${describe(uri)} within ${timeoutMs} ms`;
      reject(new RuntimeError('REQUEST_TIMEOUT', message));
    };
    const { clock } = this.#host;
    const waited = waitFor<void>(
      { clock, timeoutMs, signal, overdue, cancelled },
      ({ resolve, reject }) => {
        const settle: Waiter['settle'] = (error) => (error ? reject(error) : resolve());
        const waiter: Waiter = { uri, settle };
        this.#waiting.add(waiter);
        this.#uris.add(uri);
        this.#renew();
        return () => this.#waiting.delete(waiter);
      },
    );
    return waited.catch((error: unknown) => {
      if (this.#waitersFor(uri).length === 0 && this.#uris.delete(uri)) this.#renew();
      throw error;
    });
  }

  /** Opens a subscription for what is wanted by the end of the turn. */
  #renew(): void {
    if (this.#renewal === 'due') return;
    this.#renewal = 'due';
    queueMicrotask(() => {
      this.#renewal = 'none';
      if (this.#taking.way !== 'listening') return;
      const { open, next } = this.#taking;
      next?.stop();
      if (this.#uris.size > 0) return this.#open([...this.#uris], open);
      open?.stop();
      this.#taking = { way: 'listening', open: undefined, next: undefined };
    });
  }

  /** The one before goes on until this one is open: nothing is missed between them. */
  #open(uris: readonly string[], before: Subscription | undefined): void {
    const next: Subscription = new Subscription(
      this.#host,
      { resourceSubscriptions: uris },
      {
        opened: ({ resourceSubscriptions: agreed }) => {
          before?.stop();
          if (this.#taking.way === 'listening' && this.#taking.next === next) {
            this.#taking = { way: 'listening', open: next, next: undefined };
          }
          this.#settle(uris, Array.isArray(agreed) ? agreed : []);
        },
        cut: (error) => {
          const message = `Changes of ${uris.length} resources may be missed until the server is heard again: ${textOfError(error)}`;
          this.#host.problem('subscription.cut', message);
        },
        refused: () => this.#settle(uris, []),
      },
      'resources',
    );
    this.#taking = { way: 'listening', open: before, next };
  }

  #waitersFor(uri: string): readonly Waiter[] {
    return [...this.#waiting].filter((waiter) => waiter.uri === uri);
  }

  #settle(uris: readonly string[], agreed: readonly unknown[]): void {
    for (const uri of uris) {
      const waiters = this.#waitersFor(uri);
      if (agreed.includes(uri)) {
        for (const waiter of waiters) waiter.settle();
        continue;
      }
      const message = `The server does not tell of changes of ${describe(uri)}`;
      const error = new RuntimeError('CAPABILITY_MISSING', message);
      for (const waiter of waiters) waiter.settle(error);
      if (waiters.length > 0 || !this.#uris.delete(uri)) continue;
      this.#host.problem('subscription.lost', message);
    }
  }
}
