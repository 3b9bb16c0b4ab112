import type { BroadcastListener, Broadcasts } from '../../http/src/nodes/stores.ts';
import { luaScript } from './connection.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';

/**
 * KEYS: the count of broadcasts. ARGV: channel, text, how long the count is kept. Each broadcast has a
 * number, so a node finds out which it has missed. `PEXPIRE` first: a full Redis still counts.
 */
const publish = luaScript(`
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local number = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PUBLISH', ARGV[1], number .. ' ' .. ARGV[2])
return number
`);

/** Scripts to make known to a new connection. */
export const broadcastScripts = [publish];

/** Longer than any node is away. */
const countMs = 7 * 24 * 60 * 60 * 1000;

/** Broadcasts by Redis's publish/subscribe, which forgets what nobody hears. */
export class RedisBroadcasts implements Broadcasts {
  readonly #connection: RedisConnection;
  /** A connection that is subscribed takes no other commands. */
  readonly #subscriber: RedisConnection;
  readonly #keys: Keys;
  #listener: BroadcastListener | undefined = undefined;
  /** The number of the last broadcast that came; undefined before the first lease. */
  #last: number | undefined = undefined;
  /** The number that must have come by the next renewal of the lease. */
  #owed = 0;
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
      this.#take(Number(message.slice(0, at)), message.slice(at + 1));
    });
  }

  /**
   * Compares what came with what was published. What was published lately may be on its way: it is looked for at
   * the next renewal.
   *
   * @param count how many broadcasts there have been
   * @param store the name of the data that have the count
   */
  check(count: number, store: string): void {
    const isFirst = this.#last === undefined;
    const isOther = store !== this.#store;
    const isLost = !isFirst && (isOther || this.#last! < this.#owed);
    if (isFirst || isOther) this.#last = count;
    else if (isLost) this.#last = this.#owed;
    this.#owed = count;
    this.#store = store;
    if (isLost) this.#listener?.missed();
  }

  #take(number: number, text: string): void {
    const last = this.#last ?? number - 1;
    this.#last = number;
    if (number !== last + 1) this.#listener?.missed();
    this.#listener?.received(text);
  }
}
