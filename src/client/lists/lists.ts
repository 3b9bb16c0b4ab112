/**
 * The lists of one connection's server. Each is asked for when somebody first wants it, and kept from
 * then on: to take one from here asks nothing.
 *
 * A server of 2026-07-28 tells its changes only to who listens: the host does so before it asks, and
 * asks again after each gap.
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import { fromPromise } from 'xstate';
import type { ActorFactName, Report } from '../../actors/facts.ts';
import { observedMachine } from '../../actors/transitions.ts';
import type { MachineActor, ObservedScope } from '../../actors/transitions.ts';
import { catalogMachine } from '../../machines/catalog.machine.ts';
import type {
  CatalogChannel,
  CatalogInput,
  CatalogName,
  CatalogOutcome,
} from '../../machines/catalog.machine.ts';
import { isJsonObject } from '../../protocol/classify.ts';
import type { RuntimeError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import { askList } from './ask-list.ts';
import type { ListBounds, ListSource } from './ask-list.ts';
import { KeptList } from './kept-list.ts';
import { listKinds } from './list-kinds.ts';
import type { ListKind } from './list-kinds.ts';
import { Subscription } from './listening.ts';
import type { ListeningPort } from './listening.ts';
import type {
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  ListedTool,
} from '../../protocol/listed.ts';

/** The bounds and times of lists. */
export interface ListLimits extends ListBounds {
  /** Delay before a list is asked for again after a failure, milliseconds; doubled, up to ten times. */
  readonly listRetryMs: number;
  /**
   * The least distance between two queries of a list that changes again and again, milliseconds;
   * doubled with each, up to `maxListSpacingMs`. The last change is always asked for. 0: none.
   */
  readonly listSpacingMs: number;
  readonly maxListSpacingMs: number;
  /** How many answers that were overtaken by changes are discarded before one is given. */
  readonly maxOvertakenLists: number;
  /** How long a list waits for the subscription to its changes to be acknowledged, milliseconds. */
  readonly acknowledgeTimeoutMs: number;
  readonly listenRetryMs: number;
  readonly maxListenRetryMs: number;
}

export const defaultListLimits: ListLimits = {
  maxListPages: 100,
  maxListEntries: 10_000,
  maxListBytes: 16 * 1024 * 1024,
  listRetryMs: 5000,
  listSpacingMs: 100,
  maxListSpacingMs: 1000,
  maxOvertakenLists: 16,
  acknowledgeTimeoutMs: 1000,
  listenRetryMs: 1000,
  maxListenRetryMs: 30_000,
};

/** The connection, as its lists see it. */
export interface ListsHost extends Omit<ListSource, 'now' | 'bounds' | 'capabilities'> {
  readonly clock: ListeningPort['clock'];
  readonly limits: ListLimits;
  readonly report: Report<ActorFactName>;
  readonly observed: ObservedScope;
  /** See {@link ListeningPort}. */
  readonly listening?: ListeningPort['listening'];
}

/** The server of a channel that is ready. */
export interface ListedServer {
  readonly capabilities: JsonObject;
  /** How it tells of changes: by itself, or to those who listen. */
  readonly changes: 'told' | 'listened-for';
}

/** A server that is not there has nothing. */
const nothing: ListedServer = { capabilities: {}, changes: 'told' };

interface Kept {
  tools?: KeptList<ListedTool>;
  prompts?: KeptList<ListedPrompt>;
  resources?: KeptList<ListedResource>;
  resourceTemplates?: KeptList<ListedResourceTemplate>;
}

/** The members of a filter, by the capability that each belongs to. */
const filterMembers = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const;

/** Whether the server is there, and how its changes are heard. */
type Hearing =
  | { readonly state: 'away' }
  | { readonly state: 'told'; readonly server: ListedServer }
  /** Nobody has wanted a list yet. */
  | { readonly state: 'idle'; readonly server: ListedServer }
  | {
      readonly state: 'listening';
      readonly server: ListedServer;
      readonly subscription: Subscription;
    };

export class Lists {
  readonly #host: ListsHost;
  readonly #kept: Kept = {};
  /** Queries that wait for the subscription, and how each goes on. */
  readonly #held = new Map<CatalogName, () => void>();
  #hearing: Hearing = { state: 'away' };

  constructor(host: ListsHost) {
    this.#host = host;
  }

  get tools(): KeptList<ListedTool> {
    return (this.#kept.tools ??= this.#make('tools'));
  }

  get prompts(): KeptList<ListedPrompt> {
    return (this.#kept.prompts ??= this.#make('prompts'));
  }

  get resources(): KeptList<ListedResource> {
    return (this.#kept.resources ??= this.#make('resources'));
  }

  get resourceTemplates(): KeptList<ListedResourceTemplate> {
    return (this.#kept.resourceTemplates ??= this.#make('resourceTemplates'));
  }

  get observed(): ObservedScope {
    return this.#host.observed;
  }

  /** The lists that were wanted. */
  get kept(): readonly KeptList<JsonObject>[] {
    return Object.values(this.#kept) as KeptList<JsonObject>[];
  }

  /** Their charts, and that of the subscription to their changes, as they stand. */
  get machines(): readonly MachineActor[] {
    const hearing = this.#hearing;
    const subscriptions = hearing.state === 'listening' ? [hearing.subscription.machine] : [];
    return [...this.kept.map(({ machine: chart }) => chart), ...subscriptions];
  }

  /** A channel is ready. */
  opened(server: ListedServer): void {
    this.#stopListening();
    this.#hearing = { state: server.changes === 'told' ? 'told' : 'idle', server };
    for (const list of this.kept) list.channel('channel.opened');
  }

  /** It is no more. */
  closed(): void {
    this.#stopListening();
    this.#hearing = { state: 'away' };
    for (const list of this.kept) list.channel('channel.closed');
  }

  /** What is known was for somebody else. {@link closed} follows. */
  forget(): void {
    for (const list of this.kept) list.channel('list.forget');
  }

  /** There will be no channel for now: whoever waits hears why. */
  refuse(error: RuntimeError): void {
    for (const list of this.kept) list.refuse(error);
  }

  /** Nothing is asked any more. */
  end(error: RuntimeError): void {
    this.#stopListening();
    this.#hearing = { state: 'away' };
    for (const list of this.kept) list.end(error);
  }

  /** Takes a notification of the server's; others than those of lists mean nothing here. */
  heard(method: string, params: JsonObject | undefined): void {
    const hearing = this.#hearing;
    if (method === Method.subscriptionAcknowledged) {
      if (hearing.state === 'listening') hearing.subscription.acknowledged(params);
      return;
    }
    for (const { name, changed } of Object.values(listKinds)) {
      if (changed === method) this.#kept[name]?.invalidate();
    }
  }

  #make<T extends JsonObject>(name: CatalogName): KeptList<T> {
    const { clock, report, limits } = this.#host;
    const { listRetryMs: retryMs, maxOvertakenLists: maxOvertaken } = limits;
    const { listSpacingMs: spacingMs, maxListSpacingMs: maxSpacingMs } = limits;
    const channel: CatalogChannel = this.#hearing.state === 'away' ? 'none' : 'open';
    const whose = { kind: listKinds[name], machine, scope: this, clock, report, channel };
    return new KeptList<T>({ ...whose, retryMs, maxOvertaken, spacingMs, maxSpacingMs });
  }

  /** The `ask` of the catalogs. */
  async ask(name: CatalogName, signal: AbortSignal): Promise<CatalogOutcome> {
    const kind = listKinds[name];
    await this.#listened(kind, signal);
    signal.throwIfAborted();
    const { clock, limits, request, problem } = this.#host;
    const hearing = this.#hearing;
    const { capabilities } = hearing.state === 'away' ? nothing : hearing.server;
    const now = () => clock.now();
    const source = { now, bounds: limits, capabilities, request, problem };
    return askList(kind, source, signal);
  }

  /** Resolves once changes of the list are heard, or will not be, or after a while. */
  #listened({ name, feature }: ListKind, signal: AbortSignal): Promise<void> | undefined {
    const hearing = this.#hearing.state === 'idle' ? this.#listen(this.#hearing) : this.#hearing;
    if (hearing.state !== 'listening' || hearing.subscription.state !== 'opening') return undefined;
    if (!tellsChanges(hearing.server.capabilities, feature)) return undefined;
    const { clock, limits } = this.#host;
    return new Promise((resolve) => {
      const go = (): void => {
        clock.clearTimeout(timer);
        signal.removeEventListener('abort', go);
        this.#held.delete(name);
        resolve();
      };
      const timer = clock.setTimeout(go, limits.acknowledgeTimeoutMs);
      signal.addEventListener('abort', go, { once: true });
      this.#held.set(name, go);
    });
  }

  #listen(idle: Hearing & { readonly state: 'idle' }): Hearing {
    const { server } = idle;
    const wanted = Object.entries(filterMembers).filter(([feature]) =>
      tellsChanges(server.capabilities, feature),
    );
    if (wanted.length === 0) return idle;
    const filter = Object.fromEntries(wanted.map(([, member]) => [member, true]));
    const release = (): void => {
      for (const go of [...this.#held.values()]) go();
    };
    const subscription = new Subscription(
      this.#host,
      filter,
      {
        opened: () => {
          // What was asked before it was open may have changed since.
          const held = new Set(this.#held.keys());
          release();
          for (const { name } of Object.values(listKinds)) {
            if (!held.has(name)) this.#kept[name]?.invalidate();
          }
        },
        cut: release,
        refused: release,
      },
      'lists',
    );
    return (this.#hearing = { state: 'listening', server, subscription });
  }

  #stopListening(): void {
    if (this.#hearing.state === 'listening') this.#hearing.subscription.stop();
  }
}

function tellsChanges(capabilities: JsonObject, feature: string): boolean {
  const declared = capabilities[feature];
  return isJsonObject(declared) && declared['listChanged'] === true;
}

const machine = observedMachine(
  'catalog',
  catalogMachine.provide({
    actors: {
      ask: fromPromise(({ input, signal }: { input: CatalogInput; signal: AbortSignal }) =>
        listsIn(input).ask(input.name, signal),
      ),
    },
  }),
  (input) => listsIn(input as CatalogInput).observed,
);

function listsIn({ scope }: CatalogInput): Lists {
  if (scope instanceof Lists) return scope;
  throw new TypeError('A list has lost its scope');
}
