/** Connections to all servers of a file, or of an object that says the same. */
import { withCallers } from '../actors/caller-frames.ts';
import { systemClock } from '../actors/clock.ts';
import { callerOf, openConnection } from './connect.ts';
import type { ConnectOptions } from './connect.ts';
import { watchFile } from './hosts/config-watcher.ts';
import { readHosts, readHostsFile } from './hosts/hosts-file.ts';
import type { HostsConfig } from './hosts/hosts-file.ts';
import { ServerManager } from './hosts/manager.ts';
import type { Servers, ServersOptions as ManagedOptions } from './hosts/servers.ts';

const maker = { open: openConnection, callerOf };

/** The options of many connections: those of one are for each of them. */
export interface ServersOptions extends ManagedOptions, Omit<ConnectOptions, 'name' | 'record'> {
  /** Options for one server, above the others; the file's stand above both. */
  readonly forServer?: (name: string) => Partial<ConnectOptions>;
}

/**
 * Connects to all servers of a file. All start at once, none waits for another, and what is wrong
 * with one is no business of the others.
 *
 * @param source an `mcpServers` file, or an object that holds what such a file does
 * @returns when each is ready or has failed, and after `startupMs` at the latest; those that are
 *   late go on trying
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
    // It is known who awaits this only when they do.
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

/** The same for a configuration that was read already. */
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
  // One after the other: a slow read must not put an older file in the place of a newer one.
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
