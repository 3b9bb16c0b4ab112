import { clearInterval, clearTimeout, setInterval, setTimeout as later } from 'node:timers';
import { setTimeout } from 'node:timers/promises';
import type { Delivery, Letter, MailboxNotice } from '../http/nodes/mailbox.ts';
import { StoreUnavailable } from '../http/nodes/stores.ts';
import { RedisConnection } from './connection.ts';
import type { RedisConnectionOptions } from './connection.ts';
import type { Keys } from './keys.ts';
import { luaScript } from './connection.ts';

/** KEYS: alive, inbox. ARGV: leaseMs. Whether the node was taken to be alive until now. */
const beat = luaScript(`
local was = redis.call('EXISTS', KEYS[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1] * 2)
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return was
`);

/** KEYS: alive, inbox. ARGV: envelope, most envelopes, leaseMs. 1: it is there; 0: the node is dead; -1: its inbox is full. */
const post = luaScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[2]) then return -1 end
redis.call('XADD', KEYS[2], '*', 'e', ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[3] * 2)
return 1
`);

/** Scripts to make known to a new connection. */
export const postScripts = [beat, post];

/** What one node puts into the inbox of another. */
type Envelope =
  | {
      readonly kind: 'letter';
      readonly from: string;
      readonly number: number;
      readonly letter: Letter;
    }
  /** These letters have been heard. */
  | { readonly kind: 'heard'; readonly numbers: readonly number[] }
  | { readonly kind: 'notice'; readonly notice: MailboxNotice }
  /** Something was appended to a stream that the node follows. */
  | { readonly kind: 'appended'; readonly session: string; readonly stream: string };

export interface NodePostOptions {
  /** Time without a sign of life after which a node is taken to be dead, milliseconds. */
  readonly leaseMs: number;
  /** How long another node may take to confirm a letter, milliseconds. A busy node may take long. */
  readonly letterTimeoutMs: number;
  /** Envelopes in one inbox. A node that lives takes them out at once. */
  readonly maxEnvelopes: number;
}

export interface PostListener {
  letter(letter: Letter): void;
  notice(notice: MailboxNotice): void;
  appended(session: string, stream: string): void;
  /** From time to time, and when the store is there again. */
  beat(): void;
  /** The others took this node for dead, or the store has lost its data. */
  lapsed(): Promise<void>;
}

interface Unheard {
  readonly heard: () => void;
  readonly failed: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** How long one look into the inbox waits for something, milliseconds. */
const blockMs = 2000;

/** How often it is tried to look into the inbox while Redis is away, milliseconds. */
const retryMs = 200;

/** How long a connection of a node that lives may be silent, milliseconds: it beats on one, and looks into its inbox on the other. */
export function silenceMs(leaseMs: number, commandTimeoutMs: number): number {
  return Math.max(leaseMs, blockMs) + 2 * commandTimeoutMs;
}

/**
 * A node's place among the others: it shows that it is alive, gets what they send, and tells them
 * when it has heard it.
 */
export class NodePost {
  readonly node: string;
  readonly #connection: RedisConnection;
  readonly #inbox: RedisConnection;
  readonly #keys: Keys;
  readonly #options: NodePostOptions & RedisConnectionOptions;
  readonly #listener: PostListener;
  readonly #unheard = new Map<number, Unheard>();
  #sent = 0;
  #beating: NodeJS.Timeout | undefined;
  /** The entry of the inbox that was read last. */
  #read = '0-0';

  constructor(
    node: string,
    connection: RedisConnection,
    keys: Keys,
    options: NodePostOptions & RedisConnectionOptions,
    listener: PostListener,
  ) {
    this.node = node;
    this.#connection = connection;
    this.#keys = keys;
    this.#options = options;
    this.#listener = listener;
    // A connection of its own: one that waits for its inbox can do nothing else.
    this.#inbox = new RedisConnection(options);
  }

  /** @throws {StoreUnavailable} */
  async open(): Promise<void> {
    await this.#beatOnce();
    await this.#inbox.open();
    void this.#readInbox();
    this.#beating = setInterval(() => void this.#beat(), this.#options.leaseMs / 3);
  }

  /** Says that it is gone, if Redis listens. */
  async close(): Promise<void> {
    this.stop();
    const keys = [this.#keys.alive(this.node), this.#keys.inbox(this.node)];
    // Otherwise its lease says so, a little later.
    await this.#connection.command(['DEL', ...keys]).catch(() => undefined);
  }

  /** Says nothing more, to nobody. */
  stop(): void {
    clearInterval(this.#beating);
    this.#inbox.close();
    for (const { failed } of [...this.#unheard.values()]) failed(this.#unconfirmed('closed', ''));
  }

  async isAlive(node: string): Promise<boolean> {
    return (await this.#connection.command(['EXISTS', this.#keys.alive(node)])) === 1;
  }

  /** Resolves once the other node's listener has had it. */
  async send(node: string, letter: Letter): Promise<Delivery> {
    const number = ++this.#sent;
    const heard = this.#hearing(number, node);
    // It may fail before it is awaited.
    heard.catch(() => undefined);
    const envelope: Envelope = { kind: 'letter', from: this.node, number, letter };
    try {
      const delivery = await this.#post(node, envelope);
      if (delivery.kind === 'received') await heard;
      return delivery;
    } catch (error) {
      // A node that has died in between will not hear it.
      if (
        error instanceof StoreUnavailable &&
        error.fault === 'slow' &&
        !(await this.isAlive(node))
      ) {
        return { kind: 'gone' };
      }
      throw error;
    } finally {
      this.#forget(number);
    }
  }

  /** Resolves once it is in the inbox. `received` does not mean that it was heard. */
  notify(node: string, notice: MailboxNotice): Promise<Delivery> {
    if (node !== this.node) return this.#post(node, { kind: 'notice', notice });
    this.#listener.notice(notice);
    return Promise.resolve({ kind: 'received' });
  }

  /** The same for a follower. */
  tellAppended(node: string, session: string, stream: string): Promise<Delivery> {
    return this.#post(node, { kind: 'appended', session, stream });
  }

  async #post(node: string, envelope: Envelope): Promise<Delivery> {
    const { maxEnvelopes, leaseMs } = this.#options;
    const reply = await this.#connection.run(
      post,
      [this.#keys.alive(node), this.#keys.inbox(node)],
      [JSON.stringify(envelope), String(maxEnvelopes), String(leaseMs)],
    );
    if (reply === 0) return { kind: 'gone' };
    if (reply === 1) return { kind: 'received' };
    throw new StoreUnavailable('busy', `The inbox of the node ${node} is full`, {
      retryAfterMs: 1000,
    });
  }

  #hearing(number: number, node: string): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const failed = (error: Error): void => {
        this.#forget(number);
        reject(error);
      };
      const heard = (): void => {
        this.#forget(number);
        resolve();
      };
      // What has come while this process was busy is read first.
      const timer = later(
        () => setImmediate(() => failed(this.#unconfirmed('slow', node))),
        this.#options.letterTimeoutMs,
      );
      this.#unheard.set(number, { heard, failed, timer });
    });
  }

  #forget(number: number): void {
    clearTimeout(this.#unheard.get(number)?.timer);
    this.#unheard.delete(number);
  }

  #unconfirmed(fault: 'slow' | 'closed', node: string): StoreUnavailable {
    const message =
      fault === 'slow'
        ? `The node ${node} has not confirmed a letter within ${this.#options.letterTimeoutMs} ms`
        : 'This node is closing';
    return new StoreUnavailable(fault, message, { retryAfterMs: 1000 });
  }

  async #beat(): Promise<void> {
    try {
      if (!(await this.#beatOnce())) await this.#listener.lapsed();
      this.#listener.beat();
    } catch (error) {
      // The next one may reach it.
      if (!(error instanceof StoreUnavailable)) throw error;
      this.#listener.beat();
    }
  }

  async #beatOnce(): Promise<boolean> {
    const keys = [this.#keys.alive(this.node), this.#keys.inbox(this.node)];
    return (await this.#connection.run(beat, keys, [String(this.#options.leaseMs)])) === 1;
  }

  async #readInbox(): Promise<void> {
    while (!this.#inbox.isClosed) {
      try {
        await this.#readOnce();
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        // What was heard has been removed. So from the start is where it was, also in a store that has lost the inbox.
        this.#read = '0-0';
        await setTimeout(retryMs, undefined, { ref: false });
      }
    }
  }

  async #readOnce(): Promise<void> {
    const key = this.#keys.inbox(this.node);
    const reply = (await this.#inbox.command(
      ['XREAD', 'COUNT', '200', 'BLOCK', String(blockMs), 'STREAMS', key, this.#read],
      blockMs + this.#options.commandTimeoutMs,
    )) as readonly [[string, readonly [string, readonly string[]][]]] | null;
    const entries = reply?.[0][1] ?? [];
    if (entries.length === 0) return;
    const heard = new Map<string, number[]>();
    for (const [id, [, text]] of entries) {
      this.#read = id;
      const letter = this.#open(JSON.parse(text ?? 'null') as Envelope);
      if (letter) heard.set(letter.from, [...(heard.get(letter.from) ?? []), letter.number]);
    }
    const remove = ['XDEL', key, ...entries.map(([id]) => id)];
    const settled = [
      this.#connection.command(remove),
      ...[...heard].map(([node, numbers]) => this.#post(node, { kind: 'heard', numbers })),
    ];
    // Who waits for it hears that it was slow, and what is not removed is trimmed with the inbox.
    for (const promise of settled) void promise.catch(() => undefined);
  }

  #open(envelope: Envelope): { readonly from: string; readonly number: number } | undefined {
    switch (envelope.kind) {
      case 'letter':
        this.#listener.letter(envelope.letter);
        return envelope;
      case 'heard':
        for (const number of envelope.numbers) this.#unheard.get(number)?.heard();
        return undefined;
      case 'notice':
        this.#listener.notice(envelope.notice);
        return undefined;
      case 'appended':
        this.#listener.appended(envelope.session, envelope.stream);
        return undefined;
    }
  }
}
