/** Connections to all servers of a configuration file, or of an object with the same content. */
import { withCallers } from '../../../src/actors/caller-frames.ts';
import { systemClock } from '../../../src/actors/clock.ts';
import { openConnection } from './any-channel.ts';
import { callerOf } from './connect.ts';
import type { ConnectOptions } from './connect-options.ts';
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
    const config =
      typeof source === 'string'
        ? await readHostsFile(source, options)
        : readHosts(source, options);
    const servers = openConfig(config, options);
    await servers.started();
    return servers;
  } catch (error) {
    throw withCallers(error);
  }
}

/**
 * The same for an object, without waiting.
 *
 * @throws {RuntimeError} CONFIG_INVALID: it holds no servers
 */
export function openServers(config: object, options: ServersOptions = {}): Servers {
  return openConfig(readHosts(config, options), options);
}

/**
 * The same for a configuration that was read before, or for a part of it. If it comes from a file,
 * that is watched, unless `watch` says otherwise: a part needs `watch: false`.
 */
export function openConfig(config: HostsConfig, options: ServersOptions = {}): Servers {
  const { clock = systemClock, watch = true } = options;
  const { file } = config;
  const manager = new ServerManager(config, options, maker);
  if (file === undefined || !watch) return manager;
  // Files are read one after the other: a slow read must not replace a newer file by an older one.
  let reading: Promise<void> = Promise.resolve();
  const stop = watchFile(file, {
    clock,
    changed: () => {
      reading = reading
        .then(() => readHostsFile(file, options))
        .then(
          (read) => manager.apply(read),
          (error: Error) => manager.refused(error),
        );
    },
    failed: (error) => manager.refused(error),
  });
  manager.atEnd(stop);
  return manager;
}
