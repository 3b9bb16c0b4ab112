import type { BroadcastListener, Broadcasts } from '../../http/src/nodes/stores.ts';
import { luaScript } from './connection.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';

/**
 * KEYS: broadcast counter. ARGV: channel, text, time to live of the counter. Numbers each
 * broadcast, so that a node notices missed ones. `PEXPIRE` first: a full Redis still counts.
 */
const publish = luaScript(`
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local number = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PUBLISH', ARGV[1], number .. ' ' .. ARGV[2])
return number
`);

/** Scripts loaded on each new connection. */
export const broadcastScripts = [publish];

/** Longer than any node is disconnected. */
const countMs = 7 * 24 * 60 * 60 * 1000;

/** Broadcasts over Redis publish/subscribe, which drops messages without a subscriber. */
export class RedisBroadcasts implements Broadcasts {
  readonly #connection: RedisConnection;
  /** Separate, because a subscribed connection accepts no other commands. */
  readonly #subscriber: RedisConnection;
  readonly #keys: Keys;
  #listener: BroadcastListener | undefined = undefined;
  /** Number of the last received broadcast; undefined before the first lease. */
  #lastReceived: number | undefined = undefined;
  /** Number that must be received before the next lease renewal. */
  #expected = 0;
  #store = '';

  constructor(connection: RedisConnection, subscriber: RedisConnection, keys: Keys) {
    this.#connection = connection;
    this.#subscriber = subscriber;
    this.#keys = keys;
  }

  async publish(text: string): Promise<void> {
    const { broadcasts, channel } = this.#keys;
    await this.#connection.run(publish, [broadcasts], [channel, text, String(countMs)]);
  }

  async subscribe(listener: BroadcastListener): Promise<void> {
    this.#listener = listener;
    await this.#subscriber.subscribe(this.#keys.channel, (message) => {
      const at = message.indexOf(' ');
      this.#receive(Number(message.slice(0, at)), message.slice(at + 1));
    });
  }

  /**
   * Compares received with published broadcasts. Recent ones may still be on their way, so they are
   * checked at the next renewal.
   *
   * @param count number of broadcasts so far
   * @param store identity of the data with that counter
   */
  check(count: number, store: string): void {
    const isFirst = this.#lastReceived === undefined;
    const isOther = store !== this.#store;
    const isLost = !isFirst && (isOther || this.#lastReceived! < this.#expected);
    if (isFirst || isOther) this.#lastReceived = count;
    else if (isLost) this.#lastReceived = this.#expected;
    this.#expected = count;
    this.#store = store;
    if (isLost) this.#listener?.missed();
  }

  #receive(number: number, text: string): void {
    const last = this.#lastReceived ?? number - 1;
    this.#lastReceived = number;
    if (number !== last + 1) this.#listener?.missed();
    this.#listener?.received(text);
  }
}
