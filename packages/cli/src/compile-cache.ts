/**
 * Lets Node keep the compiled code of the command, so that the next start compiles nothing.
 *
 * Node runs what is in the cache. Its default folder is in the system's temporary one, which others
 * can write to; only the user can write to the user's cache folder.
 *
 * @see https://nodejs.org/api/module.html#module-compile-cache
 */
import * as ownModule from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** `node:module`: its types are those of the oldest supported Node. */
type NodeModule = Partial<typeof ownModule> & {
  enableCompileCache?(folder: string): unknown;
};

interface HostSystem {
  readonly env: { readonly [name: string]: string | undefined };
  readonly platform: NodeJS.Platform;
  readonly home: () => string;
}

/**
 * Turns the cache on for all modules loaded from now on, if Node has one (22.8 and newer). If the
 * folder cannot be written, Node compiles as before. `NODE_DISABLE_COMPILE_CACHE=1` turns the cache
 * off, and `NODE_COMPILE_CACHE` names another folder.
 *
 * @param nodeModule `node:module` of the Node that runs this
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
    // A user unknown to the system has no home.
    return undefined;
  }
}
