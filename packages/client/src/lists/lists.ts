/**
 * Lists of one connection's server. Each is fetched when first needed, and kept current from then
 * on; merely accessing one here sends nothing.
 *
 * A server of 2026-07-28 announces changes only to subscribers: the host subscribes before it
 * fetches, and fetches again after each gap.
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import type { ActorFactName, Report } from '../../../../src/actors/facts.ts';
import { waitFor } from '../../../../src/actors/wait-for.ts';
import type { MachineActor, ObservedScope } from '../../../../src/actors/transitions.ts';
import { catalogMachine } from './catalog.machine.ts';
import type { CatalogInput, CatalogName } from './catalog.machine.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { RuntimeError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import { askListActor } from './ask-list.actor.ts';
import type { ListBounds, ListSource } from './ask-list.actor.ts';
import { KeptList } from './kept-list.ts';
import { listKinds } from './list-kinds.ts';
import type { ListKind } from './list-kinds.ts';
import { Updates } from './listening.actor.ts';
import type { ListeningOwner, ListeningPort } from './listening.actor.ts';
import type {
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  ListedTool,
} from '../../../../src/protocol/list-items.ts';

/** Limits and timing of lists. */
export interface KeptListLimits extends ListBounds {
  /** Delay before a failed list is fetched again, ms; doubled up to ten times. */
  readonly listRetryMs: number;
  /**
   * Pause between two queries of a list that keeps changing, ms; doubled each time, up to
   * `maxListSpacingMs`. A query always follows the last change. 0: no pause.
   */
  readonly listSpacingMs: number;
  readonly maxListSpacingMs: number;
  /** Maximum overtaken answers discarded before one is published. */
  readonly maxOvertakenLists: number;
  /** Maximum wait of a list for the acknowledgment of its subscription, ms. */
  readonly acknowledgeTimeoutMs: number;
  readonly listenRetryMs: number;
  readonly maxListenRetryMs: number;
}

export const defaultListLimits: KeptListLimits = {
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

/** The connection as seen by its lists. */
export interface ListsHost extends Omit<ListSource, 'now' | 'bounds' | 'capabilities'> {
  readonly clock: ListeningPort['clock'];
  readonly limits: KeptListLimits;
  readonly report: Report<ActorFactName>;
  readonly observed: ObservedScope;
  /** Called with the tools each time the server has listed them. */
  readonly toolsListed?: (tools: readonly ListedTool[]) => void;
  /**
   * Time of subscribing to a server that notifies only subscribers. Default: with the first list.
   */
  readonly listens?: 'first-list' | 'ready' | undefined;
  /** See {@link ListeningPort}. */
  readonly listening?: ListeningPort['listening'];
}

/** Server of a ready channel. */
export interface ListedServer {
  readonly capabilities: JsonObject;
  /** Modern servers announce changes only to subscribers. */
  readonly era: 'legacy' | 'modern';
}

/** Placeholder for an absent server. */
const nothing: ListedServer = { capabilities: {}, era: 'legacy' };

interface Kept {
  tools?: KeptList<ListedTool>;
  prompts?: KeptList<ListedPrompt>;
  resources?: KeptList<ListedResource>;
  resourceTemplates?: KeptList<ListedResourceTemplate>;
}

/** Filter members by capability. */
const filterMembers = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const;

export class Lists {
  readonly #host: ListsHost;
  readonly #kept: Kept = {};
  /** Queries waiting for the subscription, with their resume functions. */
  #held: Map<CatalogName, () => void> | undefined = undefined;
  readonly #updates = new Updates('lists');
  #server = nothing;

  constructor(host: ListsHost) {
    this.#host = host;
  }

  get tools(): KeptList<ListedTool> {
    return (this.#kept.tools ??= this.#make('tools', this.#host.toolsListed));
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

  /** Lists that have been used. */
  get kept(): readonly KeptList<JsonObject>[] {
    return Object.values(this.#kept) as KeptList<JsonObject>[];
  }

  /** Charts of the lists and of their change notifications. */
  get machines(): readonly MachineActor[] {
    return [...this.kept.map(({ machine: chart }) => chart), ...this.#updates.machines];
  }

  /** Handles a ready channel. */
  opened(server: ListedServer): void {
    this.#updates.opened(server.era);
    this.#server = server;
    if (this.#host.listens === 'ready' && this.#updates.matches('unsubscribed')) this.#listen();
    for (const list of this.kept) list.channel('channel.opened');
  }

  /** Handles the end of the channel. */
  closed(): void {
    this.#updates.closed();
    for (const list of this.kept) list.channel('channel.closed');
  }

  /** Drops the known lists, which belong to another login. {@link closed} follows. */
  forget(): void {
    for (const list of this.kept) list.channel('list.forget');
  }

  /** Fails waiting callers: no channel is expected for now. */
  refuse(error: RuntimeError): void {
    for (const list of this.kept) list.refuse(error);
  }

  /** Ends all queries. */
  end(error: RuntimeError): void {
    this.#updates.closed();
    for (const list of this.kept) list.end(error);
  }

  /** Handles a notification from the server, if it concerns lists. */
  heard(method: string, params: JsonObject | undefined): void {
    if (method === Method.subscriptionAcknowledged) return this.#updates.acknowledged(params);
    for (const { name, changed } of Object.values(listKinds)) {
      if (changed === method) this.#kept[name]?.invalidate();
    }
  }

  #make<T extends JsonObject>(
    name: CatalogName,
    listed?: (items: readonly T[]) => void,
  ): KeptList<T> {
    const { clock, report, limits } = this.#host;
    const { listRetryMs: retryMs, maxOvertakenLists: maxOvertaken } = limits;
    const { listSpacingMs: spacingMs, maxListSpacingMs: maxSpacingMs } = limits;
    const begins = this.#updates.matches('away') ? 'away' : 'reachable';
    const whose = { kind: listKinds[name], machine, scope: this, clock, report, begins } as const;
    const times = { retryMs, maxOvertaken, spacingMs, maxSpacingMs };
    const { observed } = this;
    return new KeptList<T>({ ...whose, ...times, observed, listed });
  }

  /** Resolves to the server, once it announces changes of the list. */
  async source(kind: ListKind, signal: AbortSignal): Promise<ListSource> {
    await this.#listened(kind, signal);
    const { clock, limits, request, problem } = this.#host;
    const { capabilities } = this.#server;
    const now = () => clock.now();
    return { now, bounds: limits, capabilities, request, problem };
  }

  /** Resolves once changes of the list are announced or never will be, or after a timeout. */
  #listened({ name, feature }: ListKind, signal: AbortSignal): Promise<void> | undefined {
    if (this.#updates.matches('unsubscribed')) this.#listen();
    if (!this.#updates.isAwaited || !tellsChanges(this.#server, feature)) return undefined;
    const { clock, limits } = this.#host;
    return waitFor<void>(
      {
        ...{ clock, signal, timeoutMs: limits.acknowledgeTimeoutMs },
        onTimeout: ({ resolve }) => resolve(),
        abortError: (reason) => reason as Error,
      },
      ({ resolve }) => {
        const held = (this.#held ??= new Map());
        held.set(name, resolve);
        return () => held.delete(name);
      },
    );
  }

  #listen(): void {
    const wanted = Object.entries(filterMembers).filter(([feature]) =>
      tellsChanges(this.#server, feature),
    );
    if (wanted.length === 0) return;
    const filter = Object.fromEntries(wanted.map(([, member]) => [member, true]));
    const release = (): void => {
      for (const go of [...(this.#held?.values() ?? [])]) go();
    };
    const owner: ListeningOwner = {
      opened: () => {
        // Lists queried before the subscription opened may have changed since.
        const held = new Set(this.#held?.keys());
        release();
        for (const { name } of Object.values(listKinds)) {
          if (!held.has(name)) this.#kept[name]?.invalidate();
        }
      },
      cut: release,
      refused: release,
    };
    this.#updates.subscribe(this.#host, filter, owner);
  }
}

function tellsChanges({ capabilities }: ListedServer, feature: string): boolean {
  const declared = capabilities[feature];
  return isJsonObject(declared) && declared['listChanged'] === true;
}

const machine = catalogMachine.provide({
  actors: {
    ask: askListActor((kind, input, signal) => listsIn(input).source(kind, signal)),
  },
});

function listsIn({ scope }: CatalogInput): Lists {
  return scope as Lists;
}
