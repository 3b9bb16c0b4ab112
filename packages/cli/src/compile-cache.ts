/**
 * Enables Node's compile cache, so that the next start compiles nothing.
 *
 * Node executes the cache's contents. Its default location in the temporary directory may be
 * writable by others; the user's cache directory is not.
 *
 * @see https://nodejs.org/api/module.html#module-compile-cache
 */
import * as ownModule from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** `node:module`, whose types here are those of the oldest supported Node. */
type NodeModule = Partial<typeof ownModule> & {
  enableCompileCache?(folder: string): unknown;
};

interface HostSystem {
  readonly env: { readonly [name: string]: string | undefined };
  readonly platform: NodeJS.Platform;
  readonly home: () => string;
}

/**
 * Enables the cache for all modules loaded afterwards, if Node has one (22.8 and newer). If the
 * directory is not writable, Node compiles as usual. `NODE_DISABLE_COMPILE_CACHE=1` disables the
 * cache, and `NODE_COMPILE_CACHE` names another directory.
 *
 * @param nodeModule `node:module` of the running Node
 */
export function keepCompiled(
  system: HostSystem = { env: process.env, platform: process.platform, home: homedir },
  nodeModule: NodeModule = ownModule,
): void {
  const folder = cacheFolder(system);
  if (folder !== undefined) nodeModule.enableCompileCache?.(join(folder, 'mcp-actors'));
}

/** @see https://specifications.freedesktop.org/basedir-spec: relative paths are ignored */
function cacheFolder({ env, platform, home }: HostSystem): string | undefined {
  const given = platform === 'win32' ? env['LOCALAPPDATA'] : env['XDG_CACHE_HOME'];
  if (given !== undefined && isAbsolute(given)) return given;
  if (platform === 'win32') return undefined;
  try {
    return platform === 'darwin' ? join(home(), 'Library', 'Caches') : join(home(), '.cache');
  } catch {
    // The home directory of an unknown user is undefined.
    return undefined;
  }
}
