/**
 * What a replica of a session has to know of what its client has said: read from the messages, kept
 * by slots, and fed to a replica as the messages that it did not get.
 */
import { isJsonObject } from '../../protocol/classify.ts';
import type {
  InboundRequestId,
  InboundFrame,
  InboundNotification,
  InboundRequest,
  JsonObject,
} from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import type { JournalEntry, SessionRecord } from '../nodes/session-store.ts';

/** The client's list of roots, as the result of `roots/list`. */
export const rootsSlot = 'roots';

const subscriptionSlot = 'subscription:';

/** Requests that are remembered. */
const setLevel = 'logging/setLevel';
const subscribe = 'resources/subscribe';
const unsubscribe = 'resources/unsubscribe';

/** A change of one slot. */
export interface Change {
  readonly slot: string;
  /** Undefined if the slot is emptied. */
  readonly text: string | undefined;
}

/** What a message changes once it was served; undefined for almost all messages. */
export function changeBy({
  method,
  params,
}: Pick<InboundRequest | InboundNotification, 'method' | 'params'>): Change | undefined {
  switch (method) {
    case Method.initialized:
      return { slot: 'initialized', text: '{}' };
    case setLevel:
      return { slot: 'logLevel', text: JSON.stringify({ level: params?.['level'] }) };
    case subscribe:
    case unsubscribe: {
      const uri = params?.['uri'];
      const text = method === subscribe ? JSON.stringify({ uri }) : undefined;
      return { slot: `${subscriptionSlot}${String(uri)}`, text };
    }
    default:
      return undefined;
  }
}

/** Answers to it go nowhere: the client has had them from another node. */
const journalOrigin = { idScope: 'request' } as const;

const methods: { readonly [slot: string]: string } = {
  initialize: Method.initialize,
  logLevel: setLevel,
};

/** The message that brings a replica up with a change; undefined if it need not hear of it. */
export function frameOf({ slot, text }: Change): InboundFrame | undefined {
  if (slot === rootsSlot) return notification(Method.rootsListChanged);
  if (slot === 'initialized') return notification(Method.initialized);
  const params = text === undefined ? undefined : paramsOf(text);
  if (slot.startsWith(subscriptionSlot)) {
    if (params) return request(subscribe, params);
    return request(unsubscribe, { uri: slot.slice(subscriptionSlot.length) });
  }
  const method = methods[slot];
  return method === undefined || !params ? undefined : request(method, params);
}

function notification(method: string): InboundNotification {
  return { kind: 'notification', method, params: undefined };
}

function request(method: string, params: JsonObject): InboundRequest {
  const id = `journal:${method}` as InboundRequestId & string;
  // An origin of its own: with this scope requests are told apart by it.
  return { kind: 'request', id, method, params, origin: { ...journalOrigin } };
}

function paramsOf(text: string): JsonObject | undefined {
  const params: unknown = JSON.parse(text);
  return isJsonObject(params) ? params : undefined;
}

/** The journal of one session, as its replica at this node has it. */
export class Journal {
  #version = 0;
  readonly #entries = new Map<string, JournalEntry>();

  get version(): number {
    return this.#version;
  }

  /** By version. */
  get entries(): readonly JournalEntry[] {
    return [...this.#entries.values()].sort((a, b) => a.version - b.version);
  }

  text(slot: string): string | undefined {
    return this.#entries.get(slot)?.text;
  }

  /** Empties a slot without a new version: what it had must not be used. */
  distrust(slot: string): void {
    this.#entries.delete(slot);
  }

  set(version: number, { slot, text }: Change): void {
    this.#version = version;
    if (text === undefined) this.#entries.delete(slot);
    else this.#entries.set(slot, { slot, version, text });
  }

  /** Takes what the store has. @returns what has changed by it, in order */
  take({ version, journal }: Pick<SessionRecord, 'version' | 'journal'>): readonly Change[] {
    if (version <= this.#version) return [];
    const there = new Set(journal.map(({ slot }) => slot));
    const emptied = [...this.#entries.keys()]
      .filter((slot) => !there.has(slot))
      .map((slot) => ({ slot, text: undefined }));
    const changed = journal.filter(({ slot, text }) => this.text(slot) !== text);
    this.#entries.clear();
    for (const entry of journal) this.#entries.set(entry.slot, entry);
    this.#version = version;
    return [...emptied, ...changed];
  }
}
