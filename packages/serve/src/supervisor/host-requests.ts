/**
 * The host's requests that have no answer yet, with what it takes to send them to another process. A `tools/call` gets
 * an id by which any process finds it in the journal; any other request of the specification may be repeated.
 */
import { callKey, resentKey } from '../../../../src/protocol/durable-calls.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import { inserted, lineOf } from './lines.ts';
import { isEmptyObject, isObject, memberOf, textOf } from './message-scan.ts';
import type { ScannedMessage, Span } from './message-scan.ts';

/** The requests that change nothing, or the same when they are repeated. */
const repeatable: ReadonlySet<string> = new Set([
  Method.initialize,
  Method.discover,
  Method.ping,
  Method.listen,
  'completion/complete',
  'logging/setLevel',
  'prompts/get',
  'prompts/list',
  'resources/list',
  'resources/read',
  'resources/subscribe',
  'resources/templates/list',
  'resources/unsubscribe',
  'tasks/cancel',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/update',
  'tools/list',
]);

const toolsCall = 'tools/call';

/** Limits for pending requests: their number and their bytes. A server rejects more than a few thousand. */
export interface PendingBounds {
  readonly maxRequests: number;
  readonly maxBytes: number;
}

const defaultPendingBounds: PendingBounds = {
  maxRequests: 16_384,
  maxBytes: 64 * 1024 ** 2,
};

/** After how many ends of the process a request that may be repeated is answered with an error: it may be the cause. */
const maxRepeats = 3;

/** A request that has no answer. */
export interface HostRequest {
  /** See {@link ScannedMessage.id}. */
  readonly id: string;
  /** The id as it stands in the message. */
  readonly idText: string;
  readonly method: string;
  /** Counts up in the order of arrival. */
  readonly number: number;
  /** The line that was sent; undefined if there was no room for it. */
  readonly line: Buffer | undefined;
  /** Where the line says that it is sent again; undefined for a request without an id of the journal. */
  readonly resentAt: number | undefined;
  /** Processes that ended without answering. */
  losses: number;
}

/** The pending requests of the host. */
export class HostRequests {
  readonly #pending = new Map<string, HostRequest>();
  readonly #bounds: PendingBounds;
  /** Makes the ids of calls unguessable. */
  readonly #supervisor: string = crypto.randomUUID();
  #bytes = 0;
  #count = 0;

  constructor(bounds: PendingBounds = defaultPendingBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** The number of the next request. */
  get next(): number {
    return this.#count;
  }

  /** The number of the oldest pending request; Infinity if there is none. */
  get oldest(): number {
    for (const { number } of this.#pending.values()) return number;
    return Infinity;
  }

  get isFull(): boolean {
    return this.#pending.size >= this.#bounds.maxRequests;
  }

  /** Adds a request. @returns the line to send */
  add(
    line: Buffer,
    message: ScannedMessage & { readonly id: string; readonly method: string },
  ): Buffer {
    const { id, idSpan, method } = message;
    const own = lineOf(line, message);
    const number = this.#count++;
    const mark = method === toolsCall ? callMark(line, message) : undefined;
    const key = `"${callKey}":"${this.#supervisor}-${number}"`;
    const at = (mark?.at ?? 0) - message.span.from;
    const sent = mark ? inserted(own, at, `${mark.before}${key}${mark.after}`) : own;
    const isKept = this.#bytes + sent.length <= this.#bounds.maxBytes;
    if (isKept) this.#bytes += sent.length;
    this.settle(id);
    this.#pending.set(id, {
      ...{ id, method, number, losses: 0 },
      idText: idSpan ? line.toString('utf8', idSpan.from, idSpan.to) : 'null',
      line: isKept ? sent : undefined,
      resentAt: mark && at + mark.before.length + key.length,
    });
    return sent;
  }

  /** Forgets a request: it was answered or cancelled. */
  settle(id: string): HostRequest | undefined {
    const request = this.#pending.get(id);
    if (!request) return undefined;
    this.#pending.delete(id);
    this.#bytes -= request.line?.length ?? 0;
    return request;
  }

  /** The process has ended. Removes the requests that cannot be sent to another one. The server decides about calls. */
  lose(): readonly HostRequest[] {
    const lost: HostRequest[] = [];
    for (const request of this.#pending.values()) {
      request.losses++;
      const isSentAgain =
        request.line !== undefined &&
        (request.method === toolsCall
          ? request.resentAt !== undefined
          : repeatable.has(request.method) && request.losses < maxRepeats);
      if (!isSentAgain) lost.push(request);
    }
    for (const { id } of lost) this.settle(id);
    return lost;
  }

  /** Removes all of them. */
  clear(): readonly HostRequest[] {
    const all = [...this.#pending.values()];
    this.#pending.clear();
    this.#bytes = 0;
    return all;
  }

  /** The lines that send the pending requests to another process, in the order of arrival. */
  *again(): Iterable<Buffer> {
    for (const { line, resentAt, losses } of this.#pending.values()) {
      if (!line) continue;
      // One that no process was sent is new.
      const isAgain = resentAt !== undefined && losses > 0;
      yield isAgain ? inserted(line, resentAt, `,"${resentKey}":true`) : line;
    }
  }

  /** The pending requests of a method. */
  *of(method: string): Iterable<HostRequest> {
    for (const request of this.#pending.values()) if (request.method === method) yield request;
  }
}

/** Where a call's id is inserted, and the text around it. */
interface CallMark {
  readonly at: number;
  readonly before: string;
  readonly after: string;
}

/**
 * Undefined for a call whose params no server accepts. The id becomes the last member, so it wins over one that the host has
 * written.
 */
function callMark(line: Buffer, { params }: ScannedMessage): CallMark | undefined {
  if (!params || !isObject(line, params)) return undefined;
  const meta = memberOf(line, params, '_meta');
  if (meta && !isObject(line, meta)) return undefined;
  const object: Span = meta ?? params;
  const comma = isEmptyObject(line, object) ? '' : ',';
  const at = object.to - 1;
  return meta ? { at, before: comma, after: '' } : { at, before: `${comma}"_meta":{`, after: '}' };
}

/** The `uri` of a request's params. */
export function uriOf(line: Buffer, { params }: ScannedMessage): string | undefined {
  const uri = params && memberOf(line, params, 'uri');
  return uri && textOf(line, uri);
}
