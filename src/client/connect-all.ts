/** Connections to all servers of a configuration file, or of an object with the same content. */
import { withCallers } from '../actors/caller-frames.ts';
import { systemClock } from '../actors/clock.ts';
import { callerOf, openConnection } from './connect.ts';
import type { ConnectOptions } from './connect.ts';
import { readHosts, readHostsFile, watchFile } from './hosts/hosts-file.ts';
import type { HostsConfig } from './hosts/hosts-file.ts';
import { ServerManager } from './hosts/manager.ts';
import type { Servers, ManagedOptions } from './hosts/servers.ts';

const maker = { open: openConnection, callerOf };

/** The options of many connections. Options of a single connection apply to each of them. */
export interface ServersOptions extends ManagedOptions, Omit<ConnectOptions, 'name' | 'record'> {
  /** Options for one server, which override the general ones; the file's settings override both. */
  readonly forServer?: (name: string) => Partial<ConnectOptions>;
}

/**
 * Connects to all servers of a file. All start at once, independently: a fault of one does not
 * affect the others.
 *
 * @param source an `mcpServers` file, or an object with the content of one
 * @returns when each is ready or has failed, after `startupMs` at the latest; late ones keep trying
 * @throws {RuntimeError} CONFIG_INVALID: the file cannot be read, or holds no servers
 */
export async function connectAll(
  source: string | object,
  options: ServersOptions = {},
): Promise<Servers> {
  try {
    const servers =
      typeof source === 'string' ? await openFile(source, options) : openServers(source, options);
    await servers.started();
    return servers;
  } catch (error) {
    // The awaiting caller is known only once it awaits.
    await Promise.resolve();
    throw withCallers(error);
  }
}

/**
 * The same for an object, without waiting.
 *
 * @throws {RuntimeError} CONFIG_INVALID: it holds no servers
 */
export function openServers(config: object, options: ServersOptions = {}): Servers {
  return new ServerManager(readHosts(config, options), options, maker);
}

/** The same for a configuration that was already read. */
export function openConfig(config: HostsConfig, options: ServersOptions = {}): Servers {
  return new ServerManager(config, options, maker);
}

/**
 * The same for a file, without waiting for the servers.
 *
 * @throws {RuntimeError} CONFIG_INVALID: it cannot be read, or holds no servers
 */
export async function openFile(file: string, options: ServersOptions = {}): Promise<Servers> {
  const { clock = systemClock, environment, watch = true } = options;
  const read = () => readHostsFile(file, environment === undefined ? {} : { environment });
  const manager = new ServerManager(await read(), options, maker);
  if (!watch) return manager;
  // Files are read one after the other: a slow read must not replace a newer file by an older one.
  let reading: Promise<void> = Promise.resolve();
  const stop = watchFile(file, {
    clock,
    changed: () => {
      reading = reading.then(read).then(
        (config) => manager.apply(config),
        (error: Error) => manager.refused(error),
      );
    },
    failed: (error) => manager.refused(error),
  });
  manager.atEnd(stop);
  return manager;
}
