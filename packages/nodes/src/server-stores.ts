/**
 * The stores of one server among others that share a database: its sessions have ids of their own there, and what they
 * say is sealed if there are keys.
 */
import type {
  SessionRecord,
  Stores,
  StoredEvent,
  StreamEvent,
  WriteResult,
} from '../../http/src/nodes/stores.ts';
import { digestOf } from '../../../src/rounds/request-state.ts';

/** What seals. It gives undefined for what it has not sealed. */
interface Sealer {
  seal(text: string): Promise<string>;
  open(token: string): Promise<string | undefined>;
}

interface ServerStoresOptions {
  /** The name of the server. */
  readonly server: string;
  /** Without one, everything is stored as it is. */
  readonly sealer: Sealer | undefined;
}

type At = Pick<SessionRecord, 'id' | 'fence'>;

/** Sealed to its session and its name, so that no text can take the place of another. */
class Texts {
  readonly #sealer: Sealer | undefined;

  constructor(sealer: Sealer | undefined) {
    this.#sealer = sealer;
  }

  async seal(session: string, name: string, text: string): Promise<string> {
    return this.#sealer?.seal(JSON.stringify([session, name, text])) ?? text;
  }

  /** Undefined if no key opens it, or it was sealed for another place. */
  async open(session: string, name: string, token: string): Promise<string | undefined> {
    if (!this.#sealer) return token;
    const whole = await this.#sealer.open(token);
    if (whole === undefined) return undefined;
    const [itsSession, itsName, text] = JSON.parse(whole) as readonly [string, string, string];
    return itsSession === session && itsName === name ? text : undefined;
  }

  async sealRecord(record: SessionRecord): Promise<SessionRecord> {
    const { id, principal } = record;
    const slots = Object.entries(record.facts).map(
      async ([slot, text]) => [slot, await this.seal(id, `:${slot}`, text)] as const,
    );
    const facts = Object.fromEntries(await Promise.all(slots));
    const sealed = principal === undefined ? {} : { principal: await this.seal(id, '', principal) };
    return { ...record, ...sealed, facts };
  }

  /** Without facts if no key opens them: then the session is none. */
  async openRecord(record: SessionRecord): Promise<SessionRecord> {
    const { id } = record;
    const slots = Object.entries(record.facts).map(
      async ([slot, text]) => [slot, await this.open(id, `:${slot}`, text)] as const,
    );
    const opened = await Promise.all(slots);
    const isWhole = opened.every(([, text]) => text !== undefined);
    const facts = (isWhole ? Object.fromEntries(opened) : {}) as SessionRecord['facts'];
    return { ...record, principal: await this.principalOf(id, record.principal), facts };
  }

  async principalOf(id: string, principal: string | undefined): Promise<string | undefined> {
    return principal === undefined ? undefined : this.open(id, '', principal);
  }

  async sealEvents(id: string, entries: readonly StreamEvent[]): Promise<readonly StreamEvent[]> {
    const seal = async (entry: StreamEvent): Promise<StreamEvent> =>
      entry.text === ''
        ? entry
        : { ...entry, text: await this.seal(id, nameOf(entry), entry.text) };
    return Promise.all(entries.map(seal));
  }

  /** Those that a key opens. */
  async openEvents(id: string, entries: readonly StoredEvent[]): Promise<readonly StoredEvent[]> {
    const opened = await Promise.all(
      entries.map(async (entry) => {
        const text = entry.text && (await this.open(id, nameOf(entry), entry.text));
        return text === undefined ? [] : [{ ...entry, text }];
      }),
    );
    return opened.flat();
  }
}

const nameOf = ({ stream, number }: StreamEvent): string => `${stream}-${number}`;

export async function serverStores(
  stores: Stores,
  { server, sealer }: ServerStoresOptions,
): Promise<Stores> {
  const { directory, log, broadcasts } = stores;
  const prefix = `${(await digestOf(server)).slice(0, 16)}.`;
  const texts = new Texts(sealer);
  const keyOf = (id: string) => `${prefix}${id}`;
  const idsOf = (keys: readonly string[]) =>
    keys.flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []));
  /** Sealing takes longer for some than for others, and events are stored in their order. */
  let last: Promise<unknown> = Promise.resolve();
  const inOrder = <T>(sealing: Promise<T>, write: (sealed: T) => Promise<WriteResult>) => {
    const turn = last.then(() => sealing);
    last = turn.catch(() => {});
    return turn.then(write);
  };
  const logged = (write: typeof log.append) => (at: At, entries: readonly StreamEvent[]) =>
    sealer
      ? inOrder(texts.sealEvents(at.id, entries), (sealed) => write(keyed(at), sealed))
      : write(keyed(at), entries);
  const keyed = <T extends { readonly id: string }>(record: T): T => ({
    ...record,
    id: keyOf(record.id),
  });
  return {
    ...stores,
    directory: {
      async lease(node, how, request) {
        const reply = await directory.lease(node, how, request);
        return { ...reply, removed: idsOf(reply.removed) };
      },
      leave: (node) => directory.leave(node),
      async find(id) {
        const found = await directory.find(keyOf(id));
        const { record } = found;
        if (!record || record.principal === undefined) return found;
        const principal = await texts.principalOf(id, record.principal);
        return { ...found, record: principal === undefined ? undefined : { ...record, principal } };
      },
      node: (name) => directory.node(name),
      async claim(id, node, read) {
        const record = await directory.claim(keyOf(id), node, read);
        return record && texts.openRecord({ ...record, id });
      },
      put: async (record, untilMs) => directory.put(keyed(await texts.sealRecord(record)), untilMs),
      async write(at, change) {
        if (change?.text === undefined) return directory.write(keyed(at), change);
        const text = await texts.seal(at.id, `:${change.slot}`, change.text);
        return directory.write(keyed(at), { ...change, text });
      },
      remove: (id, fence) => directory.remove(keyOf(id), fence),
      rememberRemoved: (ids) => directory.rememberRemoved(ids.map(keyOf)),
      secret: (candidate) => directory.secret(candidate),
    },
    log: {
      append: logged((at, entries) => log.append(at, entries)),
      put: logged((at, entries) => log.put(at, entries)),
      read: async (id) => texts.openEvents(id, await log.read(keyOf(id))),
    },
    broadcasts: {
      publish: (text) => broadcasts.publish(`${prefix}${text}`),
      subscribe: (listener) =>
        broadcasts.subscribe({
          received: (text) => {
            if (text.startsWith(prefix)) listener.received(text.slice(prefix.length));
          },
          missed: () => listener.missed(),
        }),
    },
  };
}
