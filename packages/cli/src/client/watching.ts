/**
 * `--inspect` and `--record` of `call` and `shell`: shows connections on a page and records them.
 */
import { join, parse } from 'node:path';
import type { ServersOptions } from 'mcp-actors/client';
import type { ConnectionRecorder } from 'mcp-actors/recording';
import { readInspectorSettings, openPage, openStately } from '../inspector.ts';
import type { InspectorSettings } from '../inspector.ts';
import type { RecordConnection } from '../recording.ts';
import type { OptionTable } from '../options/option.ts';
import { recordOptionsOf, readRecordSettings } from '../options/record-options.ts';
import type { RecordSettings } from '../options/record-options.ts';

export const watchOptions = {
  inspect: {
    kind: 'text',
    placeholder: 'PORT|stately[:PORT]',
    optional: true,
    help: 'Show the connections live on a local page and print its URL to stderr, or use the Stately inspector.',
  },
  record: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Record the connection into a new file for mcp-actors replay. Several servers are recorded into one file each: mine.jsonl becomes mine-NAME.jsonl. Secrets are replaced if their form is recognized.',
  },
  ...recordOptionsOf('connection'),
} as const satisfies OptionTable;

/** Observers of a command's connections. */
export interface Observers extends AsyncDisposable {
  /** Adds the observers to connection options. */
  options(besides: ServersOptions): ServersOptions;
}

/**
 * Sets up the observers that the command line requests. Call it before opening connections.
 *
 * @param of `one`: a single connection, recorded into the named file; `each`: one file per server
 * @throws {UsageError} if the port or file cannot be used
 */
export async function openObservers(
  values: { readonly inspect: string | undefined } & Parameters<typeof readRecordSettings>[0],
  of: 'one' | 'each',
): Promise<Observers> {
  const wish = readInspectorSettings(values.inspect);
  const record = readRecordSettings(values);
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

/** Creates recorders. A restarted server gets a new connection and thus a numbered file. */
function recordersInto(
  wish: RecordSettings,
  of: 'one' | 'each',
  recordInto: RecordConnection,
): (server: string) => ConnectionRecorder {
  const { dir, name, ext } = parse(wish.path);
  const counts = new Map<string, number>();
  let first: ConnectionRecorder | undefined;
  // Report a problem with the file before starting anything.
  if (of === 'one') first = recordInto(wish);
  return (server) => {
    const prepared = first;
    first = undefined;
    const count = (counts.get(server) ?? 0) + 1;
    counts.set(server, count);
    if (prepared) return prepared;
    // Server names are arbitrary and must not change the directory.
    const stem = [name, ...(of === 'one' ? [] : [server.replaceAll(/[^\w.-]+/g, '_')])];
    const file = [...stem, ...(count > 1 ? [count] : [])].join('-');
    return recordInto({ ...wish, path: join(dir, `${file}${ext}`) });
  };
}
