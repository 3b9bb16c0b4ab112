/** Connections to every server in a configuration file or object. */
import { addCallerFrames } from '../../../src/actors/caller-frames.ts';
import { systemClock } from '../../../src/actors/clock.ts';
import { openConnection } from './any-channel.ts';
import { callerOf } from './connect.ts';
import type { ConnectOptions } from './connect-options.ts';
import { readHosts, readHostsFile, watchFile } from './hosts/hosts-file.ts';
import type { HostsConfig } from './hosts/hosts-file.ts';
import { ServerManager } from './hosts/manager.ts';
import type { Servers, ManagedOptions } from './hosts/servers.ts';

const maker = { open: openConnection, callerOf };

/** Options of `connectAll` and `openServers`. Connection options apply to every server. */
export interface ServersOptions extends ManagedOptions, Omit<ConnectOptions, 'name' | 'record'> {
  /** Per-server options. They override the general ones; settings in the file override both. */
  readonly forServer?: (name: string) => Partial<ConnectOptions>;
}

/**
 * Connects to every server in a configuration. All start at once, and one server's failure does not
 * affect the others.
 *
 * @param source an `mcpServers` file, or an object with the same content
 * @returns once every server is ready or has failed, at the latest after `startupMs`; slower
 *   servers keep trying
 * @throws {RuntimeError} CONFIG_INVALID: the file cannot be read, or contains no servers
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
    throw addCallerFrames(error);
  }
}

/**
 * Opens connections to every server in a configuration object, without waiting for them.
 *
 * @throws {RuntimeError} CONFIG_INVALID: the object contains no servers
 */
export function openServers(config: object, options: ServersOptions = {}): Servers {
  return openConfig(readHosts(config, options), options);
}

/**
 * Opens connections for a parsed configuration or part of one. A configuration read from a file
 * follows changes to that file unless `watch` is false; pass `watch: false` for a part.
 */
export function openConfig(config: HostsConfig, options: ServersOptions = {}): Servers {
  const { clock = systemClock, watch = true } = options;
  const { file } = config;
  const manager = new ServerManager(config, options, maker);
  if (file === undefined || !watch) return manager;
  // Serialize reads: a slow read must not overwrite a newer file's content.
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
