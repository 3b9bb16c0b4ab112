/** What has changed from one configuration to the next. */
import { isDeepStrictEqual } from 'node:util';
import type { HostsConfig } from './hosts-file.ts';
import type { ServerSettings } from './server-entry.ts';

/** The names of servers, by what has to be done with each. */
export interface ConfigChanges {
  /** It is to be started. */
  readonly added: readonly string[];
  /** It is to be ended. */
  readonly removed: readonly string[];
  /**
   * It must be ended and started anew, because it is reached in another way or has other limits.
   */
  readonly changed: readonly string[];
  /** Its connection stays; only the manager's settings for it have changed. */
  readonly adjusted: readonly string[];
}

/** Compares the servers, regardless of the order of their members. */
export function changesBetween(
  before: Pick<HostsConfig, 'servers'>,
  after: Pick<HostsConfig, 'servers'>,
): ConfigChanges {
  const names = [...after.servers.keys()];
  const kept = names.filter((name) => before.servers.has(name));
  const differ = kept.filter(
    (name) => !isDeepStrictEqual(before.servers.get(name), after.servers.get(name)),
  );
  const isAdjusted = (name: string): boolean => {
    const [was, is] = [before.servers.get(name), after.servers.get(name)];
    return (
      was?.kind === 'enabled' &&
      is?.kind === 'enabled' &&
      isDeepStrictEqual(toConnection(was.settings), toConnection(is.settings))
    );
  };
  return {
    added: names.filter((name) => !before.servers.has(name)),
    removed: [...before.servers.keys()].filter((name) => !after.servers.has(name)),
    changed: differ.filter((name) => !isAdjusted(name)),
    adjusted: differ.filter(isAdjusted),
  };
}

/** The settings that a connection is made with. The rest concerns only the manager. */
const toConnection = ({ entry, timeoutMs, restart, era, bridging }: ServerSettings) => ({
  entry,
  timeoutMs,
  restart,
  era,
  bridging,
});
