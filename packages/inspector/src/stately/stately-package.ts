/** Loads the official inspector's package, an optional peer dependency. */
import { createRequire } from 'node:module';
import type { createInspector as CreateInspector } from '@statelyai/inspect';
import type { WebSocketClass } from './socket.actor.ts';

const packageName = '@statelyai/inspect';

export interface StatelyPackage {
  readonly createInspector: typeof CreateInspector;
  /** `ws` as resolved by that package: Node has no WebSocket before version 22. */
  readonly WebSocket: WebSocketClass;
}

/**
 * @throws {Error} `code` ERR_MODULE_NOT_FOUND if the package is missing; the message says how to
 * install it
 */
export async function loadStatelyPackage(): Promise<StatelyPackage> {
  const require = createRequire(import.meta.url);
  try {
    const { createInspector } = await import('@statelyai/inspect');
    const itsOwn = createRequire(require.resolve(packageName));
    return { createInspector, WebSocket: itsOwn('ws') as WebSocketClass };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    const missing = new Error(
      `Package ${packageName} is not installed beside mcp-actors; the official inspector needs it: npm install ${packageName}@^0.7.0`,
      { cause: error },
    );
    throw Object.assign(missing, { code: 'ERR_MODULE_NOT_FOUND' });
  }
}
