/** A session's dump, bounded for a page and without secrets. */
import type { SessionDump } from '../diagnosis/session-dump.ts';
import type { PageDump } from './page-messages.ts';
import { redactText } from '../diagnosis/redaction.ts';

/** Entries shown of one list. Those that have waited longest come first: they matter most. */
const maxEntries = 100;

export function boundedDump(dump: SessionDump): PageDump {
  const { calls, pending, tasks, roots, actors, client, http } = dump;
  const omitted: { [list: string]: number } = {};
  const bounded = <T>(name: string, list: readonly T[]): readonly T[] => {
    if (list.length > maxEntries) omitted[name] = list.length - maxEntries;
    return list.slice(0, maxEntries);
  };
  return {
    ...dump,
    ...(client
      ? {
          client: { ...client, name: redactText(client.name), version: redactText(client.version) },
        }
      : {}),
    ...(http ? { http: { ...http, streams: bounded('streams', http.streams) } } : {}),
    actors: bounded('actors', actors),
    calls: bounded('calls', calls).map((call) => ({
      ...call,
      method: redactText(call.method),
      ...(call.subject === undefined ? {} : { subject: redactText(call.subject) }),
    })),
    pending: bounded('pending', pending),
    // The newest matter most.
    tasks: bounded('tasks', [...tasks].reverse()).map((task) => ({
      ...task,
      ...(task.statusMessage === undefined
        ? {}
        : { statusMessage: redactText(task.statusMessage) }),
    })),
    roots: {
      ...roots,
      ...(roots.problem === undefined ? {} : { problem: redactText(roots.problem) }),
      list: bounded('roots', roots.list).map((root) => ({ ...root, uri: redactText(root.uri) })),
    },
    omitted,
  };
}
