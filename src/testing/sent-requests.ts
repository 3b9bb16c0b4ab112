/**
 * The requests that a client has sent, so that a result can be checked by the method it answers.
 */
import { isJsonObject } from '../protocol/classify.ts';

export class SentRequests {
  /** The methods of the requests that have no result yet, by id; several if an id was repeated. */
  readonly #methods = new Map<unknown, Set<string>>();
  readonly #decoder = new TextDecoder();
  /** The start of a line whose end has not been written yet. */
  #line = '';

  /** Notes a request, or the requests of a batch; other values are ignored. */
  add(message: unknown): void {
    for (const one of [message].flat()) {
      if (!isJsonObject(one)) continue;
      const { method, id } = one;
      if (typeof method !== 'string' || id === undefined) continue;
      const methods = this.#methods.get(id);
      if (methods) methods.add(method);
      else this.#methods.set(id, new Set([method]));
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

  /** The methods that a response with this id may answer. */
  methodsOf(id: unknown): ReadonlySet<string> | undefined {
    return this.#methods.get(id);
  }

  /** The id has its result, and may be used again. */
  answered(id: unknown): void {
    this.#methods.delete(id);
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
