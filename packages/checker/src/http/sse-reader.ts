/**
 * Parser for server-sent events. Invalid UTF-8 becomes an event that is not JSON.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
import type { SseEvent } from './exchange.ts';

export interface SseListener {
  event(event: SseEvent): void;
  /** Reconnection delay requested by the server, ms. */
  retry(afterMs: number): void;
}

/** Longer lines abort parsing. */
const maxBytes = 16 * 1024 * 1024;

export class SseReader {
  readonly #listener: SseListener;
  #rest: Buffer = Buffer.alloc(0);
  #data: string[] = [];
  #id: string | undefined;

  constructor(listener: SseListener) {
    this.#listener = listener;
  }

  /** @throws {Error} if a line is longer than 16 MiB */
  take(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let from = 0;
    for (;;) {
      const end = this.#endOfLine(from);
      if (end === undefined) break;
      this.#line(textOf(this.#rest.subarray(from, end.at)));
      from = end.next;
    }
    this.#rest = this.#rest.subarray(from);
    if (this.#rest.length > maxBytes) throw new Error('Event longer than 16 MiB');
  }

  /** Lines end with CR, LF or both. The LF of a CR at the end of a chunk may be in the next one. */
  #endOfLine(from: number): { readonly at: number; readonly next: number } | undefined {
    const lf = this.#rest.indexOf(10, from);
    const cr = this.#rest.subarray(0, lf === -1 ? undefined : lf).indexOf(13, from);
    if (cr === -1) return lf === -1 ? undefined : { at: lf, next: lf + 1 };
    if (cr + 1 === this.#rest.length) return undefined;
    return { at: cr, next: this.#rest[cr + 1] === 10 ? cr + 2 : cr + 1 };
  }

  #line(line: string): void {
    if (line === '') return this.#dispatch();
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'data') this.#data.push(value);
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    else if (field === 'retry' && /^\d+$/.test(value)) this.#listener.retry(Number(value));
  }

  #dispatch(): void {
    const [data, id] = [this.#data.join('\n'), this.#id];
    // An event without data has no message, but its id may prime the client.
    if (this.#data.length > 0 || id !== undefined) this.#listener.event({ id, data });
    this.#data = [];
    this.#id = undefined;
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function textOf(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch {
    const text = bytes.toString('latin1');
    return text.startsWith('data:') ? `data:(not UTF-8) ${text.slice(5)}` : text;
  }
}
