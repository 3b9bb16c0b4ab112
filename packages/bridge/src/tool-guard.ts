/**
 * What was allowed stays what it is: a client is offered the tools of a server that are in a lock and
 * have not changed. Every list and every call of the server passes here.
 *
 * @see docs/maintaining/decisions/24-locks-and-policies.md
 */
import type { Report } from '../../../src/actors/facts.ts';
import type { ServerEntry } from '../../client/src/connection/options.ts';
import {
  entryChanges,
  lockedEntry,
  lockedIn,
  textOfDifference,
  toolDifferences,
} from '../../client/src/hosts/servers-lock.ts';
import type {
  LockDifference,
  LockedServer,
  ServersLock,
} from '../../client/src/hosts/servers-lock.ts';
import { RuntimeError } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { printableName } from '../../../src/protocol/printable.ts';
import type { OpenedServer } from './bridged-server.ts';
import { withOffered } from './offered-tools.ts';
import type { HoldingBack } from './offered-tools.ts';

/**
 * Which tools are offered: `locked`: those that are in the lock and unchanged; `new`: also those that
 * the lock does not know; `all`: there is no lock.
 */
export type Trust = 'locked' | 'new' | 'all';

/** What is guarded, and by what. */
export interface ToolGuardOptions {
  readonly name: string;
  readonly entry: ServerEntry;
  readonly lock: ServersLock;
  readonly trust: Trust;
  readonly report: Report;
}

/** What has been said is remembered up to this number of tools, and not said of further ones. */
const maxTold = 1000;
/** How many tools one line of the log names. */
const maxNamed = 20;

export class ToolGuard {
  readonly #options: ToolGuardOptions;
  readonly #locked: LockedServer | undefined;
  readonly #told = new Set<string>();

  constructor(options: ToolGuardOptions) {
    this.#options = options;
    this.#locked = lockedIn(options.lock.servers, options.name);
  }

  /**
   * Called before the server is started or reached: to start another command is what a lock is to
   * prevent.
   *
   * @throws {RuntimeError} CONFIG_INVALID: it is not the one that was allowed
   */
  admit(): void {
    const { name, entry, trust } = this.#options;
    const what = this.#locked ? entryChanges(this.#locked, lockedEntry(entry)) : [];
    const isUnknown = !this.#locked && trust === 'locked';
    if (what.length === 0 && !isUnknown) return;
    const why = isUnknown
      ? 'the lock has no server of this name'
      : `it is not as the lock has it (${what.join(', ')})`;
    const message = `The server ${printableName(name)} is not used: ${why}. mcp-actors bridge lock --update allows it`;
    throw new RuntimeError('CONFIG_INVALID', message);
  }

  /** The server with the tools that are offered, and no others. */
  over(opened: OpenedServer): OpenedServer {
    const among: HoldingBack['among'] = (tools, part) => this.#heldBack(tools, part === 'whole');
    return withOffered(opened, { among, byName: false }).server;
  }

  /** The tools that are not offered, with why. */
  #heldBack(tools: readonly JsonObject[], isWhole: boolean): ReadonlyMap<string, string> {
    const held = this.#reasons(tools, isWhole);
    const fresh = [...held].filter(([tool, why]) => !this.#told.has(`${why}\n${tool}`));
    if (fresh.length === 0 || this.#told.size >= maxTold) return held;
    for (const [tool, why] of fresh) this.#told.add(`${why}\n${tool}`);
    const { name, report } = this.#options;
    const named = fresh.slice(0, maxNamed).map(([tool, why]) => `${printableName(tool)}: ${why}`);
    const more = fresh.length > maxNamed ? `; and ${fresh.length - maxNamed} more` : '';
    const message = `Tools of ${printableName(name)} are not offered: ${named.join('; ')}${more}. mcp-actors bridge lock shows what differs`;
    report({ level: 'warning', name: 'bridge.held-back', message });
    return held;
  }

  #reasons(tools: readonly JsonObject[], isWhole: boolean): ReadonlyMap<string, string> {
    const { trust } = this.#options;
    const isHeld = ({ kind }: LockDifference) =>
      kind === 'changed' || (kind !== 'gone' && trust === 'locked');
    const differences = toolDifferences(this.#locked?.tools ?? {}, tools, isWhole).filter(isHeld);
    return new Map(
      differences.flatMap((each): [string, string][] =>
        each.tool === undefined ? [] : [[each.tool, textOfDifference(each)]],
      ),
    );
  }
}
