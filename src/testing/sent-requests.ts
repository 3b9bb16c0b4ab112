/**
 * The requests that a client has sent, so that a result can be checked by the method it answers.
 */
import { isJsonObject } from '../protocol/classify.ts';
import type { JsonObject } from '../protocol/frames.ts';

export class SentRequests {
  /**
   * The requests that have no result yet, by id: the params by method, several if an id was
   * repeated.
   */
  readonly #requests = new Map<unknown, Map<string, JsonObject | undefined>>();
  readonly #decoder = new TextDecoder();
  /** The start of a line whose end has not been written yet. */
  #line = '';

  /** Notes a request, or the requests of a batch; other values are ignored. */
  add(message: unknown): void {
    for (const one of [message].flat()) {
      if (!isJsonObject(one)) continue;
      const { method, id, params } = one;
      if (typeof method !== 'string' || id === undefined) continue;
      const requests = this.#requests.get(id) ?? new Map<string, JsonObject | undefined>();
      this.#requests.set(id, requests.set(method, isJsonObject(params) ? params : undefined));
    }
  }

  /** Notes the requests in a chunk's lines; a line that is not JSON holds none. */
  addRaw(chunk: string | Uint8Array): void {
    const text = typeof chunk === 'string' ? chunk : this.#decoder.decode(chunk, { stream: true });
    const lines = (this.#line + text).split('\n');
    this.#line = lines.pop() ?? '';
    for (const line of lines) this.#addLine(line);
  }

  /** Nothing more will be written: the last line needs no line feed. */
  end(): void {
    this.#addLine(this.#line);
    this.#line = '';
  }

  /** The requests that a response with this id may answer: their params by method. */
  requestsOf(id: unknown): ReadonlyMap<string, JsonObject | undefined> | undefined {
    return this.#requests.get(id);
  }

  /** The id has its result, and may be used again. */
  answered(id: unknown): void {
    this.#requests.delete(id);
  }

  #addLine(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line.replace(/^\uFEFF/, ''));
    } catch {
      // The session refuses such a line; there is nothing to note.
      return;
    }
    this.add(message);
  }
}
