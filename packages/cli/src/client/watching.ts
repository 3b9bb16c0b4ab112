/** `--inspect` and `--record` of `call` and `shell`: their connections live on a page, and in files. */
import { join, parse } from 'node:path';
import type { ServersOptions } from 'mcp-actors/client';
import type { ConnectionRecorder } from 'mcp-actors/recording';
import { inspectorWish, openPage, openStately } from '../inspector.ts';
import type { InspectorSettings } from '../inspector.ts';
import type { RecordConnection } from '../recording.ts';
import type { OptionTable } from '../options/option.ts';
import { recordOptionsOf, recordWish } from '../options/record-options.ts';
import type { RecordSettings } from '../options/record-options.ts';

export const watchOptions = {
  inspect: {
    kind: 'text',
    placeholder: 'PORT|stately[:PORT]',
    optional: true,
    help: 'Show the connections live on a local page, whose address is written to stderr; or in the official inspector of XState.',
  },
  record: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Record the connection into a new file, which mcp-actors replay plays again. Of several servers each has its file: mine.jsonl becomes mine-NAME.jsonl. Secrets are replaced, as far as they can be told by their form.',
  },
  ...recordOptionsOf('connection'),
} as const satisfies OptionTable;

/** What watches the connections of a command. */
export interface Watching extends AsyncDisposable {
  /** The options of the connections, with what was wanted of them besides. */
  options(besides: ServersOptions): ServersOptions;
}

/**
 * Begins to watch as the command line says. Call this before there are connections.
 *
 * @param of how many connections there may be: one has the file that is named, of several each its own
 * @throws {UsageError} the port or the file cannot be used
 */
export async function watching(
  values: { readonly inspect: string | undefined } & Parameters<typeof recordWish>[0],
  of: 'one' | 'each',
): Promise<Watching> {
  const wish = inspectorWish(values.inspect);
  const record = recordWish(values);
  const recorderFor =
    record === undefined
      ? undefined
      : recordersInto(record, of, (await import('../recording.ts')).recordingConnection);
  const inspector = wish && (await openInspector(wish));
  return {
    options: (besides) => ({
      ...besides,
      ...(inspector ? { watchers: [inspector.watcher] } : {}),
      ...(recorderFor
        ? {
            forServer: (name) => ({ ...besides.forServer?.(name), record: recorderFor(name) }),
          }
        : {}),
    }),
    [Symbol.asyncDispose]: async () => inspector?.close(),
  };
}

const openInspector = (wish: InspectorSettings) =>
  wish.kind === 'page'
    ? openPage(wish.port, 'connections')
    : openStately(wish.port, 'connections are');

/** A server may be started again, as a new connection: that has a number. */
function recordersInto(
  wish: RecordSettings,
  of: 'one' | 'each',
  recordInto: RecordConnection,
): (server: string) => ConnectionRecorder {
  const { dir, name, ext } = parse(wish.path);
  const counts = new Map<string, number>();
  let first: ConnectionRecorder | undefined;
  // A fault of the file is reported before anything is started.
  if (of === 'one') first = recordInto(wish);
  return (server) => {
    const prepared = first;
    first = undefined;
    const count = (counts.get(server) ?? 0) + 1;
    counts.set(server, count);
    if (prepared) return prepared;
    // A name of a file of servers may be anything, and is not to lead elsewhere.
    const stem = [name, ...(of === 'one' ? [] : [server.replaceAll(/[^\w.-]+/g, '_')])];
    const file = [...stem, ...(count > 1 ? [count] : [])].join('-');
    return recordInto({ ...wish, path: join(dir, `${file}${ext}`) });
  };
}
