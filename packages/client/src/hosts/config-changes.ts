/** Differences between two configurations. */
import { isDeepStrictEqual } from 'node:util';
import type { HostsConfig } from './hosts-file.ts';
import type { ServerSettings } from './server-entry.ts';

/** Server names by required action. */
export interface ConfigChanges {
  /** Servers to start. */
  readonly added: readonly string[];
  /** Servers to stop. */
  readonly removed: readonly string[];
  /** Servers to restart, because their address or limits changed. */
  readonly changed: readonly string[];
  /** Servers whose connection stays: only the manager's settings changed. */
  readonly adjusted: readonly string[];
}

/** Compares the servers, regardless of the order of members. */
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

/** Settings that require a new connection when changed; the others concern only the manager. */
const toConnection = ({ entry, timeoutMs, restart, era, bridging }: ServerSettings) => ({
  entry,
  timeoutMs,
  restart,
  era,
  bridging,
});
