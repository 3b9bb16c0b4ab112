/** What the contract of stores plays with: nodes, their deaths, and time. */
import type { Letter, MailboxListener, MailboxNotice } from '../../http/nodes/mailbox.ts';
import type { NewSession } from '../../http/nodes/session-store.ts';
import type { StoreLimits, Stores } from '../../http/nodes/stores.ts';
import type { ContractCase } from '../contract.ts';

/** Several nodes that share one store. */
export interface StoresWorld {
  /** Starts a node. */
  start(): Promise<Stores>;
  /** Ends a node without a word, as a power cut does. Resolves when the others can know of it. */
  kill(stores: Stores): Promise<void>;
  /** Lets time pass for the store. */
  elapse(ms: number): Promise<void>;
  /** Ends all nodes, and what they shared. */
  close(): Promise<void>;
}

/** Makes a world with these limits and the defaults for the others. */
export type OpenStoresWorld = (limits?: Partial<StoreLimits>) => Promise<StoresWorld>;

/** A behaviour that every store must have. */
export type StoresCase = ContractCase<OpenStoresWorld>;

/** A node of the contract, with what its mailbox has told it. */
export interface Node extends Stores {
  readonly inbox: NodeInbox;
}

/** What has come to a node. */
export class NodeInbox implements MailboxListener {
  readonly letters: Letter[] = [];
  readonly notices: MailboxNotice[] = [];
  readonly #waiting = new Map<string, () => void>();

  letter(letter: Letter): void {
    this.letters.push(letter);
  }

  notice(notice: MailboxNotice): void {
    this.notices.push(notice);
    this.#waiting.get(notice.kind)?.();
  }

  /** Resolves once a notice of this kind has come since the last time it was asked for. */
  async noticed(kind: MailboxNotice['kind']): Promise<MailboxNotice> {
    for (;;) {
      const index = this.notices.findIndex((notice) => notice.kind === kind);
      const [found] = index === -1 ? [] : this.notices.splice(index, 1);
      if (found) return found;
      await new Promise<void>((resolve) => this.#waiting.set(kind, resolve));
    }
  }
}

/** A case with a world of its own, and two nodes in it. */
export function storesCase(
  name: string,
  play: (nodes: {
    readonly a: Node;
    readonly b: Node;
    readonly world: StoresWorld;
  }) => Promise<void>,
  limits?: Partial<StoreLimits>,
): StoresCase {
  return {
    name,
    check: async (open) => {
      const world = await open(limits);
      try {
        await play({ a: await startNode(world), b: await startNode(world), world });
      } finally {
        await world.close();
      }
    },
  };
}

/** Starts a node whose letters are kept. */
export async function startNode(world: StoresWorld): Promise<Node> {
  const inbox = new NodeInbox();
  const stores = await world.start();
  stores.mailbox.listen(inbox);
  const { node, sessions, events, mailbox } = stores;
  return { node, sessions, events, mailbox, inbox, close: () => stores.close() };
}

/** A session with that id, of the principal `anna`. */
export function newSession(id: string): NewSession {
  return { id, principal: 'anna', revision: 'negotiated', initialize: '{"capabilities":{}}' };
}

/** Neither the order of members nor a member that is undefined makes a difference. */
function textOf(value: unknown): string {
  return String(
    JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'object' && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
        : part,
    ),
  );
}

/** @throws {Error} they are not the same */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [is, should] = [textOf(actual), textOf(expected)];
  if (is !== should) {
    throw new Error(`${what} is ${is.slice(0, 500)}, it should be ${should.slice(0, 500)}`);
  }
}
