/**
 * Broadcasts changes of this node's servers to the servers of other nodes, each at most once. A
 * node that may have missed a change notifies its clients of every kind of change.
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
  /** Servers of this node, optionally only those with a name. */
  servers(name?: string): Iterable<McpServer>;
  /** Called when other nodes have deleted sessions. */
  onRemoved(ids: readonly string[]): void;
  /** Called when a node has left and owns nothing. */
  onNodeLeft(node: string): void;
}

interface Change {
  /** Name of the server. */
  readonly server: string;
  readonly method: string;
  readonly uri?: string | undefined;
}

/** Content of a broadcast. */
interface Broadcast {
  /** Id of the publishing process. */
  readonly from: string;
  readonly changes?: readonly Change[];
  readonly removed?: readonly string[];
  readonly left?: string;
  /** Set if changes could not be published. */
  readonly missed?: true;
}

/** Maximum changes broadcast individually per turn; beyond it only `missed` is sent. */
const maxChanges = 1000;

export class ChangeBroadcast implements BroadcastListener {
  readonly #options: ChangeBroadcastOptions;
  /** Id of this process. */
  readonly #processId = crypto.randomUUID();
  /** Changes of this turn, with the servers that reported them. */
  readonly #changed = new Map<string, readonly [Change, McpServer]>();
  /** True if a change could not be published. */
  #hasUnsent = false;

  constructor(options: ChangeBroadcastOptions) {
    this.#options = options;
    options.broadcasts
      .subscribe(this)
      .catch(
        reportUnavailable(
          options.report,
          'This node could not subscribe to changes of other nodes',
        ),
      );
  }

  /** @param at server that reported the change */
  add(change: Change, at: McpServer): void {
    const { server, method, uri = '' } = change;
    this.#changed.set(`${server} ${method} ${uri}`, [change, at]);
    onceAtTurnEnd(this.#flush);
  }

  /** Announces deleted sessions. */
  remove(ids: readonly string[]): void {
    // Other nodes also learn of it when they renew their leases.
    this.#publish({ removed: ids }).catch(() => undefined);
  }

  /** Announces that this node has left. Never rejects. */
  async leave(node: string): Promise<void> {
    await this.#publish({ left: node }).catch(() => undefined);
  }

  /** Called when the store is reachable again. */
  catchUp(): void {
    if (this.#hasUnsent) this.#send({ missed: true });
  }

  received(text: string): void {
    const broadcast = JSON.parse(text) as Broadcast;
    if (broadcast.from === this.#processId) return;
    const { changes = [], removed, left, missed } = broadcast;
    for (const change of changes) this.#apply(change);
    if (removed) this.#options.onRemoved(removed);
    if (left !== undefined) this.#options.onNodeLeft(left);
    if (missed) this.missed();
  }

  missed(): void {
    for (const server of this.#options.servers()) changesOf(server)?.resync();
  }

  readonly #flush = (): void => {
    const changed = [...this.#changed.values()];
    this.#changed.clear();
    for (const [change, at] of changed) this.#apply(change, at);
    const changes = changed.map(([change]) => change);
    this.#send(changes.length > maxChanges ? { missed: true } : { changes });
  };

  #send(broadcast: Omit<Broadcast, 'from'>): void {
    this.#publish(broadcast).then(
      () => {
        if (broadcast.missed) this.#hasUnsent = false;
      },
      (error: unknown) => {
        this.#hasUnsent = true;
        reportUnavailable(
          this.#options.report,
          'A change could not be broadcast to other nodes',
        )(error);
      },
    );
  }

  #publish(broadcast: Omit<Broadcast, 'from'>): Promise<void> {
    return this.#options.broadcasts.publish(
      JSON.stringify({ from: this.#processId, ...broadcast }),
    );
  }

  #apply({ server: name, method, uri }: Change, at?: McpServer): void {
    for (const server of this.#options.servers(name)) {
      if (server !== at) changesOf(server)?.notify(method, uri);
    }
  }
}
