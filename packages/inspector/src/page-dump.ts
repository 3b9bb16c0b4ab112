/** Redacts a dump and bounds its lists for the page. */
import type { SessionDump } from 'mcp-actors';
import type { ConnectionDump } from 'mcp-actors/client';
import { redactText } from 'mcp-actors/internal';
import type { PageCall, PageConnectionDump, PageDump, PageSessionDump } from './page-messages.ts';

/** Entries shown per list, longest wait first. */
const maxEntries = 100;

export function boundedDump(dump: SessionDump | ConnectionDump): PageDump {
  return dump.side === 'host' ? boundedConnection(dump) : boundedSession(dump);
}

/** Truncates lists and counts the omitted entries. */
class Bounds {
  readonly omitted: { [list: string]: number } = {};

  cut<T>(name: string, list: readonly T[]): readonly T[] {
    if (list.length > maxEntries) this.omitted[name] = list.length - maxEntries;
    return list.slice(0, maxEntries);
  }
}

function boundedSession(dump: SessionDump): PageSessionDump {
  const { calls, pending, tasks, roots, actors, client, http } = dump;
  const bounds = new Bounds();
  return {
    ...dump,
    ...(client ? { client: { ...client, ...namesIn(client) } } : {}),
    ...(http ? { http: { ...http, streams: bounds.cut('streams', http.streams) } } : {}),
    actors: bounds.cut('actors', actors),
    calls: bounds.cut('calls', calls).map(shownCall),
    pending: bounds.cut('pending', pending),
    // Newest first, so that the oldest are omitted.
    tasks: bounds.cut('tasks', [...tasks].reverse()).map((task) => ({
      ...task,
      ...(task.lastStep === undefined ? {} : { lastStep: redactText(task.lastStep) }),
      ...(task.questions ? { questions: task.questions.map((each) => redactText(each)) } : {}),
      ...(task.statusMessage === undefined
        ? {}
        : { statusMessage: redactText(task.statusMessage) }),
    })),
    roots: {
      ...roots,
      ...(roots.problem === undefined ? {} : { problem: redactText(roots.problem) }),
      list: bounds.cut('roots', roots.list).map((root) => ({ ...root, uri: redactText(root.uri) })),
    },
    omitted: bounds.omitted,
  };
}

/** Characters shown of the end of a process's standard error. */
const maxLastWords = 1000;

function boundedConnection(dump: ConnectionDump): PageConnectionDump {
  const { calls, pending, actors, server, loss, lastWords } = dump;
  const bounds = new Bounds();
  return {
    ...dump,
    ...(server ? { server: { ...server, ...namesIn(server) } } : {}),
    ...(loss ? { loss: { ...loss, message: redactText(loss.message) } } : {}),
    ...(lastWords === undefined
      ? {}
      : { lastWords: redactText(lastWords, Infinity).slice(-maxLastWords) }),
    actors: bounds.cut('actors', actors).map((actor) => ({ ...actor, id: redactText(actor.id) })),
    calls: bounds.cut('calls', calls).map(shownCall),
    pending: bounds.cut('pending', pending),
    omitted: bounds.omitted,
  };
}

function namesIn({ name, version }: { readonly name: string; readonly version: string }) {
  return { name: redactText(name), version: redactText(version) };
}

function shownCall(call: PageCall): PageCall {
  return {
    ...call,
    method: redactText(call.method),
    ...(call.subject === undefined ? {} : { subject: redactText(call.subject) }),
    ...(call.client ? { client: namesIn(call.client) } : {}),
    ...(call.questions ? { questions: call.questions.map((each) => redactText(each)) } : {}),
  };
}
