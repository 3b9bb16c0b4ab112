/** `--inspect` of `call` and `shell`: their connections live on a page. */
import type { ServersOptions } from '../../client/connect-all.ts';
import { UsageError } from '../command.ts';
import { inspectorWish, openPage } from '../inspector.ts';
import type { OptionTable } from '../options/option.ts';

export const watchOptions = {
  inspect: {
    kind: 'text',
    placeholder: 'PORT',
    optional: true,
    help: 'Show the connections live on a local page, whose address is written to stderr.',
  },
} as const satisfies OptionTable;

/** What watches the connections of a command. */
export interface Watching extends AsyncDisposable {
  readonly options: Pick<ServersOptions, 'watchers'>;
}

/**
 * Begins to watch as the command line says. Call this before there are connections.
 *
 * @throws {UsageError} the port cannot be used
 */
export async function watching(values: {
  readonly inspect: string | undefined;
}): Promise<Watching> {
  const wish = inspectorWish(values.inspect);
  if (!wish) return { options: {}, [Symbol.asyncDispose]: () => Promise.resolve() };
  if (wish.kind === 'stately') {
    throw new UsageError(
      '--inspect: the official inspector shows sessions; give a port or nothing',
    );
  }
  const page = await openPage(wish.port, 'connections');
  return { options: { watchers: [page.watcher] }, [Symbol.asyncDispose]: () => page.close() };
}
