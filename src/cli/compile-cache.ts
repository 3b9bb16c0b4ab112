/**
 * Lets Node keep what it has compiled of the command, so that the next start compiles nothing.
 *
 * Node's own default is a folder in the system's temporary one, which others can write to; what is in it is run. The user's cache folder is the
 * user's own.
 *
 * @see https://nodejs.org/api/module.html#module-compile-cache
 */
import * as ownModule from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** `node:module`; the types are those of the oldest Node that is supported. */
type NodeModule = Partial<typeof ownModule> & {
  enableCompileCache?(folder: string): unknown;
};

interface Place {
  readonly env: { readonly [name: string]: string | undefined };
  readonly platform: NodeJS.Platform;
  readonly home: () => string;
}

/**
 * Turns the cache on where Node has one (22.8 and newer), for what is loaded from now on. A folder that cannot be written is no failure: Node
 * then compiles. `NODE_DISABLE_COMPILE_CACHE=1` turns it off, `NODE_COMPILE_CACHE` is another place for it.
 *
 * @param nodeModule `node:module` of the Node that runs this
 */
export function keepCompiled(
  place: Place = { env: process.env, platform: process.platform, home: homedir },
  nodeModule: NodeModule = ownModule,
): void {
  const folder = cacheFolder(place);
  if (folder !== undefined) nodeModule.enableCompileCache?.(join(folder, 'mcp-actors'));
}

/** @see https://specifications.freedesktop.org/basedir-spec: a path that is not absolute is ignored */
function cacheFolder({ env, platform, home }: Place): string | undefined {
  const given = platform === 'win32' ? env['LOCALAPPDATA'] : env['XDG_CACHE_HOME'];
  if (given !== undefined && isAbsolute(given)) return given;
  if (platform === 'win32') return undefined;
  try {
    return platform === 'darwin' ? join(home(), 'Library', 'Caches') : join(home(), '.cache');
  } catch {
    // A user that the system does not know has no home.
    return undefined;
  }
}
