/**
 * Finds the server of a tool name while some tool lists are pending. Waits only for servers that
 * could have the tool, and only until one does.
 */
import type { Clock } from '../../../../src/actors/clock.ts';
import { waitFor } from '../../../../src/actors/wait-for.ts';
import type { WaitHandle } from '../../../../src/actors/wait-for.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import { quoted } from '../../../../src/protocol/printable.ts';
import { defaultConnectionLimits } from '../connection/limits.ts';
import type { HostRequestOptions } from '../connection/options.ts';
import { mayBeNamed, splitName } from './merged-names.ts';
import { isAllowed } from './tool-policies.ts';
import type { FoundTool, MergedTool } from './server-reports.ts';
import type { ManagedServer } from './managed-server.ts';

/** The servers to search. */
export interface SearchedServers {
  readonly clock: Clock;
  readonly slots: ReadonlyMap<string, ManagedServer>;
  /** The current merged tool list. */
  merged(): ReadonlyMap<string, MergedTool>;
}

/** Intermediate result of a search. */
interface Finding {
  /** Tools found so far. */
  readonly found: readonly FoundTool[];
  /** Servers whose pending lists could change the result. */
  readonly late: readonly ManagedServer[];
}

/**
 * Extra wait for servers with a tool of the same name, ms, if the name does not include a server.
 */
const namesakeMs = 1000;

export class ToolSearch {
  readonly #servers: SearchedServers;
  /** Pending searches. */
  readonly #looks = new Set<() => void>();
  /** Aborts the waits when everything is closed. */
  readonly #end = new AbortController();

  constructor(servers: SearchedServers) {
    this.#servers = servers;
  }

  /** Re-evaluates pending searches. */
  changed(): void {
    for (const look of [...this.#looks]) look();
  }

  /** Ends all searches. */
  end(): void {
    this.#end.abort();
    this.changed();
  }

  /** The owner of a merged name, if known without waiting. */
  ownerNow(name: string): FoundTool | undefined {
    const { found, late } = this.#owners(name);
    return late.length === 0 ? found[0] : undefined;
  }

  /** The tool with this merged name; undefined if no server has it. */
  async owner(name: string, options: HostRequestOptions): Promise<FoundTool | undefined> {
    const { found } = await this.#settled(() => this.#owners(name), name, options);
    return found[0];
  }

  /** See `Servers.findTools`. */
  async named(name: string, options: HostRequestOptions): Promise<readonly FoundTool[]> {
    const { found, late } = await this.#settled(() => this.#named(name), name, options);
    if (late.length === 0 || found.length !== 1) return found;
    const look = (): readonly FoundTool[] | undefined => {
      const now = this.#named(name);
      return now.late.length === 0 || now.found.length > 1 ? now.found : undefined;
    };
    const times = { timeoutMs: namesakeMs, signal: options.signal };
    return this.#until(look, times, ({ resolve }) => resolve(this.#named(name).found));
  }

  /** Searches a merged name. If it includes a server, that server gets the call without a list. */
  #owners(name: string): Finding {
    const { slots } = this.#servers;
    const listed = this.#servers.merged().get(name);
    if (listed) return { found: [foundAs(listed)], late: [] };
    const spelt = this.#speltOut(name);
    const late = [...slots.values()].filter(
      (slot) => slot.name !== spelt?.server && mayBeNamed(slot.name, name) && slot.isListDue,
    );
    return { found: spelt ? [spelt] : [], late };
  }

  /**
   * Searches a merged name or a tool's own name. Cached tools are not enough: waits for the
   * server's own list.
   */
  #named(name: string): Finding {
    const merged = this.#servers.merged();
    const due = [...this.#servers.slots.values()].filter((slot) => slot.isListDue);
    const listed = merged.get(name);
    if (listed) {
      return { found: [foundAs(listed)], late: due.filter((slot) => slot.name === listed.server) };
    }
    const spelt = this.#speltOut(name);
    const late = due.filter((slot) => mayBeNamed(slot.name, name));
    if (spelt) return { found: [spelt], late };
    const own = [...merged.values()].filter(({ tool }) => tool === name);
    return { found: own.map(foundAs), late: due };
  }

  /** The tool that a name spells out, unless its server's list lacks it. */
  #speltOut(name: string): FoundTool | undefined {
    const split = splitName(name);
    const slot = split && this.#servers.slots.get(split.server);
    if (!slot || !isAllowed(split.tool, slot.settings.tools)) return undefined;
    const { state, reason } = slot.list;
    // A list with a reason is incomplete, so the server may still have the tool.
    const isWhole = state === 'known' && reason === undefined;
    return isWhole ? undefined : { ...split, listed: undefined };
  }

  /** Waits until no more lists are pending, or one server has the tool. */
  #settled(find: () => Finding, name: string, options: HostRequestOptions): Promise<Finding> {
    const { timeoutMs = defaultConnectionLimits.requestTimeoutMs, signal, whenAway } = options;
    const look = (): Finding => {
      const { found, late } = find();
      // Idle servers are started for their lists, as for the merged list.
      for (const slot of late) {
        if (['idle', 'closed'].includes(slot.status.state)) void slot.use().catch(() => {});
      }
      if (whenAway !== 'refuse') return { found, late };
      return { found, late: late.filter((slot) => slot.status.state === 'ready') };
    };
    const overdue = ({ resolve, reject }: WaitHandle<Finding>): void => {
      const { found, late } = look();
      if (found.length > 0) return resolve({ found, late: [] });
      const who = late.map((slot) => `${slot.name} (${slot.status.state})`).join(', ');
      const message = `No server listed the tool ${quoted(name)} within ${timeoutMs} ms. Lists still pending: ${who}`;
      reject(new RuntimeError('REQUEST_TIMEOUT', message));
    };
    const over = (): Finding | undefined => {
      const finding = look();
      return isSettled(finding) ? finding : undefined;
    };
    return this.#until(over, { timeoutMs, signal }, overdue);
  }

  /** Repeats the search after each change until there is a result. */
  #until<T>(
    look: () => T | undefined,
    { timeoutMs, signal }: { readonly timeoutMs: number } & Pick<HostRequestOptions, 'signal'>,
    overdue: (end: WaitHandle<T>) => void,
  ): Promise<T> {
    const cancelled = (cause: unknown): RuntimeError =>
      new RuntimeError('CANCELLED', 'Waiting for the lists of tools was cancelled', { cause });
    const { clock } = this.#servers;
    return waitFor(
      { clock, timeoutMs, signal, onTimeout: overdue, abortError: cancelled },
      ({ resolve, reject }) => {
        const again = (): void => {
          if (this.#end.signal.aborted) {
            return reject(new RuntimeError('NOT_READY', 'All servers are closed'));
          }
          const value = look();
          if (value !== undefined) resolve(value);
        };
        this.#looks.add(again);
        again();
        return () => this.#looks.delete(again);
      },
    );
  }
}

const foundAs = (listed: MergedTool): FoundTool => ({
  server: listed.server,
  tool: listed.tool,
  listed,
});

function isSettled({ found, late }: Finding): boolean {
  if (late.length === 0 || found.length > 1) return true;
  return found.some(({ server, listed }) => listed && !late.some(({ name }) => name === server));
}
