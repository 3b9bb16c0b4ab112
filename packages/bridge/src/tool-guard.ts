/**
 * Enforces a lock: offers only tools that are in it and unchanged. All lists and calls of the server pass through here.
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
 * Offered tools. `locked`: tools in the lock and unchanged. `new`: also tools unknown to the lock. `all`: no lock.
 */
export type Trust = 'locked' | 'new' | 'all';

export interface ToolGuardOptions {
  readonly name: string;
  readonly entry: ServerEntry;
  readonly lock: ServersLock;
  readonly trust: Trust;
  readonly report: Report;
}

/** Maximum number of tools whose blocking is logged. */
const maxTold = 1000;
/** Maximum number of tools named in one log line. */
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
   * Checks the entry before the server is started or contacted, because a lock must prevent other commands.
   *
   * @throws {RuntimeError} CONFIG_INVALID: the entry differs from the lock
   */
  admit(): void {
    const { name, entry, trust } = this.#options;
    const what = this.#locked ? entryChanges(this.#locked, lockedEntry(entry)) : [];
    const isUnknown = !this.#locked && trust === 'locked';
    if (what.length === 0 && !isUnknown) return;
    const why = isUnknown
      ? 'the lock has no server of this name'
      : `it is not as the lock has it (${what.join(', ')})`;
    const message = `Server ${printableName(name)} is blocked by the lock: ${why}. Run mcp-actors bridge lock --update to allow it`;
    throw new RuntimeError('CONFIG_INVALID', message);
  }

  /** Restricts a server to its offered tools. */
  over(opened: OpenedServer): OpenedServer {
    const among: HoldingBack['among'] = (tools, part) => this.#heldBack(tools, part === 'whole');
    return withOffered(opened, { among, byName: false }).server;
  }

  /** Blocked tools, with the reason. */
  #heldBack(tools: readonly JsonObject[], isWhole: boolean): ReadonlyMap<string, string> {
    const held = this.#reasons(tools, isWhole);
    const fresh = [...held].filter(([tool, why]) => !this.#told.has(`${why}\n${tool}`));
    if (fresh.length === 0 || this.#told.size >= maxTold) return held;
    for (const [tool, why] of fresh) this.#told.add(`${why}\n${tool}`);
    const { name, report } = this.#options;
    const named = fresh.slice(0, maxNamed).map(([tool, why]) => `${printableName(tool)}: ${why}`);
    const more = fresh.length > maxNamed ? `; and ${fresh.length - maxNamed} more` : '';
    const message = `The lock blocks tools of ${printableName(name)}: ${named.join('; ')}${more}. Run mcp-actors bridge lock to see the differences`;
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
