/** What a client has asked, however it wrote it: a result is checked by what it answers. */
import { isJsonObject } from '../protocol/classify.ts';

export class SentRequests {
  /** The methods of the requests that have no result yet, by id; more than one where an id was repeated. */
  readonly #methods = new Map<unknown, Set<string>>();
  readonly #decoder = new TextDecoder();
  /** The line whose end was not written yet. */
  #line = '';

  /** Notes a message, or the messages of a batch. What is no request is passed over. */
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

  /** Notes what the lines of a chunk hold; a line that is no JSON asks nothing. */
  addRaw(chunk: string | Uint8Array): void {
    const text = typeof chunk === 'string' ? chunk : this.#decoder.decode(chunk, { stream: true });
    const lines = (this.#line + text).split('\n');
    this.#line = lines.pop() ?? '';
    for (const line of lines) this.#addLine(line);
  }

  /** No more is written: the last line needs no line feed. */
  end(): void {
    this.#addLine(this.#line);
    this.#line = '';
  }

  /** What a response with this id may answer. */
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
      // The session is to refuse it; nothing is to be known of it here.
      return;
    }
    this.add(message);
  }
}
