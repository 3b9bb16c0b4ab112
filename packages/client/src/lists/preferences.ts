/**
 * A host's lasting preferences, renewed on every channel: the resources whose changes it wants to
 * hear of, and the log level.
 *
 * @see MCP 2025-11-25, server/resources, "Subscriptions"
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import { onceAtTurnEnd } from '../../../../src/actors/clock.ts';
import type { MachineActor } from '../../../../src/actors/transitions.ts';
import { waitFor } from '../../../../src/actors/waiting.ts';
import type { WaitEnd } from '../../../../src/actors/waiting.ts';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import { RuntimeError, textOfError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { logLevelOf } from '../../../../src/protocol/log-levels.ts';
import type { LogLevel } from '../../../../src/protocol/log-levels.ts';
import type { OwnRequestOptions } from './ask-list.actor.ts';
import { Updates } from './listening.actor.ts';
import type { ListeningOwner, ListeningPort } from './listening.actor.ts';

/** The connection, as the preferences see it. */
export interface PreferencesHost extends ListeningPort {
  /** Called when a preference could not be renewed. */
  readonly problem: (
    name: 'subscription.lost' | 'subscription.cut' | 'logging.lost',
    message: string,
  ) => void;
}

/** How a preference is sent. */
export interface PreferenceOptions extends Omit<OwnRequestOptions, 'sent'> {
  readonly timeoutMs: number;
}

/** The requests of the legacy era that set a preference. */
export const preferenceMethods: ReadonlySet<string> = new Set([
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]);

interface Waiter {
  readonly uri: string;
  settle(error?: RuntimeError): void;
}

/** A renewal need not wait for the next channel, which has its own renewal. */
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

  /** The watched resources. */
  get uris(): readonly string[] {
    return [...this.#uris];
  }

  /** The charts of how changes of resources are heard. */
  get machines(): readonly MachineActor[] {
    return this.#updates.machines;
  }

  /** The log level for the envelope of each request of 2026-07-28. */
  get logLevel(): LogLevel | undefined {
    return this.#logLevel;
  }

  /**
   * Watches a resource. Resolves once the server has agreed.
   *
   * @param era the server's era, if it is known
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

  /** Sets the least severe level that the host wants. */
  async setLogLevel(
    level: LogLevel,
    era: 'legacy' | 'modern' | undefined,
    options: PreferenceOptions,
  ): Promise<void> {
    if (era !== 'modern') await this.#host.request('logging/setLevel', { level }, options);
    this.#logLevel = level;
  }

  /**
   * Notes a preference that the host has sent in a request of its own, to be renewed on each channel.
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

  /** A channel is ready: the preferences are renewed on it. */
  opened(era: 'legacy' | 'modern'): void {
    this.#updates.opened(era);
    // At once, so that the host's next requests on the new channel come after it.
    if (era === 'modern') return this.#renew();
    for (const uri of this.#uris) this.#restore(uri);
    const level = this.#logLevel;
    if (level === undefined) return;
    this.#host.request('logging/setLevel', { level }, restoring).catch((error: unknown) => {
      if (isLost(error)) return;
      const message = `The log level ${level} was not set again: ${textOfError(error)}`;
      this.#host.problem('logging.lost', message);
    });
  }

  /** The channel is closed. */
  closed(): void {
    this.#updates.closed();
  }

  /** There will be no channel for now: waiting callers get this error. */
  refuse(error: RuntimeError): void {
    for (const waiter of this.#waiting ?? []) waiter.settle(error);
  }

  /** Ends all subscriptions. */
  end(error: RuntimeError): void {
    this.closed();
    this.refuse(error);
  }

  /** Takes `notifications/subscriptions/acknowledged`, if it is for one of these subscriptions. */
  acknowledged(params: JsonObject | undefined): void {
    this.#updates.acknowledged(params);
  }

  #restore(uri: string): void {
    this.#host.request('resources/subscribe', { uri }, restoring).catch((error: unknown) => {
      if (isLost(error)) return;
      this.#uris.delete(uri);
      const message = `${inspectValue(uri)} is not watched any more: ${textOfError(error)}`;
      this.#host.problem('subscription.lost', message);
    });
  }

  #listenTo(uri: string, { timeoutMs, signal }: PreferenceOptions): Promise<void> {
    if (this.#uris.has(uri) && this.#waitersFor(uri).length === 0) return Promise.resolve();
    const cancelled = (cause: unknown): RuntimeError =>
      new RuntimeError('CANCELLED', `Watching ${inspectValue(uri)} was cancelled`, { cause });
    if (signal?.aborted) return Promise.reject(cancelled(signal.reason));
    const overdue = ({ reject }: WaitEnd<void>): void => {
      const message = `The server has not agreed to tell of ${inspectValue(uri)} within ${timeoutMs} ms`;
      reject(new RuntimeError('REQUEST_TIMEOUT', message));
    };
    const { clock } = this.#host;
    const waited = waitFor<void>(
      { clock, timeoutMs, signal, overdue, cancelled },
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
   * Subscribes to the resources that are watched now. Those that are set in one turn are asked for
   * together, at its end.
   */
  readonly #renew = (): void => {
    if (this.#updates.matches('away') || this.#updates.matches('told')) return;
    if (this.#uris.size === 0) return this.#updates.unsubscribe();
    const uris = [...this.#uris];
    const owner: ListeningOwner = {
      opened: ({ resourceSubscriptions: agreed }) =>
        this.#settle(uris, Array.isArray(agreed) ? agreed : []),
      cut: (error) => {
        const message = `Changes of ${uris.length} resources may be missed until the server is heard again: ${textOfError(error)}`;
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
      const message = `The server does not tell of changes of ${inspectValue(uri)}`;
      const error = new RuntimeError('CAPABILITY_MISSING', message);
      for (const waiter of waiters) waiter.settle(error);
      if (waiters.length > 0 || !this.#uris.delete(uri)) continue;
      this.#host.problem('subscription.lost', message);
    }
  }
}
