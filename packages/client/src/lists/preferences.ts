/**
 * Preferences restored on every channel: watched resources and the log level.
 *
 * @see MCP 2025-11-25, server/resources, "Subscriptions"
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import { onceAtTurnEnd } from '../../../../src/actors/clock.ts';
import type { MachineActor } from '../../../../src/actors/transitions.ts';
import { waitFor } from '../../../../src/actors/wait-for.ts';
import type { WaitHandle } from '../../../../src/actors/wait-for.ts';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import { RuntimeError, textOfError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { logLevelOf } from '../../../../src/protocol/log-levels.ts';
import type { LogLevel } from '../../../../src/protocol/log-levels.ts';
import type { OwnRequestOptions } from './ask-list.actor.ts';
import { Updates } from './listening.actor.ts';
import type { ListeningOwner, ListeningPort } from './listening.actor.ts';

/** The connection as seen by the preferences. */
export interface PreferencesHost extends ListeningPort {
  /** Called when a preference could not be restored. */
  readonly problem: (
    name: 'subscription.lost' | 'subscription.cut' | 'logging.lost',
    message: string,
  ) => void;
}

/** Options for sending a preference. */
export interface PreferenceOptions extends Omit<OwnRequestOptions, 'sent'> {
  readonly timeoutMs: number;
}

/** Legacy requests that set a preference. */
export const preferenceMethods: ReadonlySet<string> = new Set([
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]);

interface Waiter {
  readonly uri: string;
  settle(error?: RuntimeError): void;
}

/** Restoring need not wait for the next channel, which restores by itself. */
const restoring = { whenAway: 'refuse' } as const;

function isLost(error: unknown): boolean {
  return error instanceof RuntimeError && (error.code === 'CLOSED' || error.code === 'NOT_READY');
}

export class Preferences {
  readonly #host: PreferencesHost;
  readonly #uris = new Set<string>();
  #waiting: Set<Waiter> | undefined = undefined;
  readonly #updates = new Updates('resources');
  #logLevel: LogLevel | undefined = undefined;

  constructor(host: PreferencesHost) {
    this.#host = host;
  }

  /** Watched resources. */
  get uris(): readonly string[] {
    return [...this.#uris];
  }

  /** Charts of the resource subscriptions. */
  get machines(): readonly MachineActor[] {
    return this.#updates.machines;
  }

  /** Log level for the envelope of each request of 2026-07-28. */
  get logLevel(): LogLevel | undefined {
    return this.#logLevel;
  }

  /**
   * Watches a resource. Resolves once the server has agreed.
   *
   * @param era the server's era, if known
   * @throws the server's error; {RuntimeError} CAPABILITY_MISSING, REQUEST_TIMEOUT, CANCELLED
   */
  async subscribe(
    uri: string,
    era: 'legacy' | 'modern' | undefined,
    options: PreferenceOptions,
  ): Promise<void> {
    if (era === 'modern') return this.#listenTo(uri, options);
    await this.#host.request('resources/subscribe', { uri }, options);
    this.#uris.add(uri);
  }

  /** Stops watching a resource. Without a channel there is nothing to undo. */
  async unsubscribe(uri: string, options: PreferenceOptions): Promise<void> {
    const isWatched = this.#uris.delete(uri);
    if (isWatched) onceAtTurnEnd(this.#renew);
    if (this.#updates.matches('told'))
      await this.#host.request('resources/unsubscribe', { uri }, options);
  }

  /** Sets the minimum level of log messages. */
  async setLogLevel(
    level: LogLevel,
    era: 'legacy' | 'modern' | undefined,
    options: PreferenceOptions,
  ): Promise<void> {
    if (era !== 'modern') await this.#host.request('logging/setLevel', { level }, options);
    this.#logLevel = level;
  }

  /**
   * Records a preference that the host set with a request of its own, to restore it on each
   * channel.
   *
   * @see {@link preferenceMethods}
   */
  note(method: string, { uri, level: wanted }: JsonObject = {}): void {
    const level = logLevelOf(wanted);
    if (method === 'logging/setLevel' && level !== undefined) this.#logLevel = level;
    if (typeof uri !== 'string') return;
    if (method === 'resources/subscribe') this.#uris.add(uri);
    if (method === 'resources/unsubscribe') this.#uris.delete(uri);
  }

  /** Restores the preferences on a ready channel. */
  opened(era: 'legacy' | 'modern'): void {
    this.#updates.opened(era);
    // Immediately, so that the host's next requests on the new channel follow.
    if (era === 'modern') return this.#renew();
    for (const uri of this.#uris) this.#restore(uri);
    const level = this.#logLevel;
    if (level === undefined) return;
    this.#host.request('logging/setLevel', { level }, restoring).catch((error: unknown) => {
      if (isLost(error)) return;
      const message = `The log level ${level} could not be restored: ${textOfError(error)}`;
      this.#host.problem('logging.lost', message);
    });
  }

  /** Handles the end of the channel. */
  closed(): void {
    this.#updates.closed();
  }

  /** Fails waiting callers: no channel is expected for now. */
  refuse(error: RuntimeError): void {
    for (const waiter of this.#waiting ?? []) waiter.settle(error);
  }

  /** Ends all subscriptions. */
  end(error: RuntimeError): void {
    this.closed();
    this.refuse(error);
  }

  /**
   * Handles `notifications/subscriptions/acknowledged`, if it is for one of these subscriptions.
   */
  acknowledged(params: JsonObject | undefined): void {
    this.#updates.acknowledged(params);
  }

  #restore(uri: string): void {
    this.#host.request('resources/subscribe', { uri }, restoring).catch((error: unknown) => {
      if (isLost(error)) return;
      this.#uris.delete(uri);
      const message = `${inspectValue(uri)} is no longer watched: ${textOfError(error)}`;
      this.#host.problem('subscription.lost', message);
    });
  }

  #listenTo(uri: string, { timeoutMs, signal }: PreferenceOptions): Promise<void> {
    if (this.#uris.has(uri) && this.#waitersFor(uri).length === 0) return Promise.resolve();
    const cancelled = (cause: unknown): RuntimeError =>
      new RuntimeError('CANCELLED', `Watching ${inspectValue(uri)} was cancelled`, { cause });
    if (signal?.aborted) return Promise.reject(cancelled(signal.reason));
    const overdue = ({ reject }: WaitHandle<void>): void => {
      const message = `The server did not confirm the subscription to ${inspectValue(uri)} within ${timeoutMs} ms`;
      reject(new RuntimeError('REQUEST_TIMEOUT', message));
    };
    const { clock } = this.#host;
    const waited = waitFor<void>(
      { clock, timeoutMs, signal, onTimeout: overdue, abortError: cancelled },
      ({ resolve, reject }) => {
        const settle: Waiter['settle'] = (error) => (error ? reject(error) : resolve());
        const waiter: Waiter = { uri, settle };
        const waiting = (this.#waiting ??= new Set());
        waiting.add(waiter);
        this.#uris.add(uri);
        onceAtTurnEnd(this.#renew);
        return () => waiting.delete(waiter);
      },
    );
    return waited.catch((error: unknown) => {
      if (this.#waitersFor(uri).length === 0 && this.#uris.delete(uri)) onceAtTurnEnd(this.#renew);
      throw error;
    });
  }

  /**
   * Subscribes to the watched resources. Resources added in one turn share a request at its end.
   */
  readonly #renew = (): void => {
    if (this.#updates.matches('away') || this.#updates.matches('told')) return;
    if (this.#uris.size === 0) return this.#updates.unsubscribe();
    const uris = [...this.#uris];
    const owner: ListeningOwner = {
      opened: ({ resourceSubscriptions: agreed }) =>
        this.#settle(uris, Array.isArray(agreed) ? agreed : []),
      cut: (error) => {
        const message = `Changes of ${uris.length} resources may be missed until the subscription reopens: ${textOfError(error)}`;
        this.#host.problem('subscription.cut', message);
      },
      refused: () => this.#settle(uris, []),
    };
    this.#updates.subscribe(this.#host, { resourceSubscriptions: uris }, owner);
  };

  #waitersFor(uri: string): readonly Waiter[] {
    return [...(this.#waiting ?? [])].filter((waiter) => waiter.uri === uri);
  }

  #settle(uris: readonly string[], agreed: readonly unknown[]): void {
    for (const uri of uris) {
      const waiters = this.#waitersFor(uri);
      if (agreed.includes(uri)) {
        for (const waiter of waiters) waiter.settle();
        continue;
      }
      const message = `The server does not announce changes of ${inspectValue(uri)}`;
      const error = new RuntimeError('CAPABILITY_MISSING', message);
      for (const waiter of waiters) waiter.settle(error);
      if (waiters.length > 0 || !this.#uris.delete(uri)) continue;
      this.#host.problem('subscription.lost', message);
    }
  }
}
