/**
 * Tells the servers of other nodes what has changed at those of this one: each change at most once. Whoever may have
 * missed one tells its clients that everything may have changed.
 */
import { onceAtTurnEnd } from '../../../../src/actors/clock.ts';
import { changesOf } from '../../../../src/server/changes.ts';
import type { McpServer } from '../../../../src/server/create-server.ts';
import type { HttpReport } from '../facts.ts';
import type { BroadcastListener, Broadcasts } from '../nodes/stores.ts';
import { reportUnavailable } from './store-errors.ts';

export interface ChangeBroadcastOptions {
  readonly report: HttpReport;
  readonly broadcasts: Broadcasts;
  /** The servers of this node with this name; without one, all. */
  servers(name?: string): Iterable<McpServer>;
  /** Other nodes have ended sessions for good. */
  removed(ids: readonly string[]): void;
  /** A node has left: it owns nothing any more. */
  left(node: string): void;
}

interface Change {
  /** The name of the server. */
  readonly server: string;
  readonly method: string;
  readonly uri?: string | undefined;
}

/** What a broadcast says. */
interface Broadcast {
  /** The process that has published it. */
  readonly from: string;
  readonly changes?: readonly Change[];
  readonly removed?: readonly string[];
  readonly left?: string;
  /** Changes were not published. */
  readonly missed?: true;
}

/** How many changes of one turn are told one by one; of more, only that there are some. */
const maxChanges = 1000;

export class ChangeBroadcast implements BroadcastListener {
  readonly #home: ChangeBroadcastOptions;
  /** The name of this process. */
  readonly #from = crypto.randomUUID();
  /** The changes of this turn, and the servers that know them. */
  readonly #changed = new Map<string, readonly [Change, McpServer]>();
  /** True if other nodes were not told of a change. */
  #isBehind = false;

  constructor(home: ChangeBroadcastOptions) {
    this.#home = home;
    home.broadcasts
      .subscribe(this)
      .catch(reportUnavailable(home.report, 'This node does not hear what changes at others'));
  }

  /** @param at the server that knows the change */
  add(change: Change, at: McpServer): void {
    const { server, method, uri = '' } = change;
    this.#changed.set(`${server} ${method} ${uri}`, [change, at]);
    onceAtTurnEnd(this.#tell);
  }

  /** Sessions have ended here for good. */
  remove(ids: readonly string[]): void {
    // Each node also learns it with the next renewal of its lease.
    this.#publish({ removed: ids }).catch(() => undefined);
  }

  /** This node has left. Settles once the others were told, or cannot be. */
  async leave(node: string): Promise<void> {
    await this.#publish({ left: node }).catch(() => undefined);
  }

  /** The store answers again. */
  catchUp(): void {
    if (this.#isBehind) this.#send({ missed: true });
  }

  received(text: string): void {
    const broadcast = JSON.parse(text) as Broadcast;
    if (broadcast.from === this.#from) return;
    const { changes = [], removed, left, missed } = broadcast;
    for (const change of changes) this.#apply(change);
    if (removed) this.#home.removed(removed);
    if (left !== undefined) this.#home.left(left);
    if (missed) this.missed();
  }

  missed(): void {
    for (const server of this.#home.servers()) changesOf(server)?.missed();
  }

  readonly #tell = (): void => {
    const changed = [...this.#changed.values()];
    this.#changed.clear();
    for (const [change, at] of changed) this.#apply(change, at);
    const changes = changed.map(([change]) => change);
    this.#send(changes.length > maxChanges ? { missed: true } : { changes });
  };

  #send(broadcast: Omit<Broadcast, 'from'>): void {
    this.#publish(broadcast).then(
      () => {
        if (broadcast.missed) this.#isBehind = false;
      },
      (error: unknown) => {
        this.#isBehind = true;
        reportUnavailable(this.#home.report, 'The other nodes do not know of a change yet')(error);
      },
    );
  }

  #publish(broadcast: Omit<Broadcast, 'from'>): Promise<void> {
    return this.#home.broadcasts.publish(JSON.stringify({ from: this.#from, ...broadcast }));
  }

  #apply({ server: name, method, uri }: Change, at?: McpServer): void {
    for (const server of this.#home.servers(name)) {
      if (server !== at) changesOf(server)?.tell(method, uri);
    }
  }
}
