/** References within a document. */
import type { JsonValue } from './document.ts';

/** Follows references within a document. */
export class Pointers {
  readonly document: JsonValue;
  #anchors: Map<string, unknown> | undefined;

  constructor(document: JsonValue) {
    this.document = document;
  }

  /** @throws {Error} the reference leads nowhere */
  at(reference: string): unknown {
    const lost = () => new Error(`the reference "${reference}" leads nowhere`);
    if (!reference.startsWith('#')) throw lost();
    const fragment = decoded(reference.slice(1));
    if (fragment !== '' && !fragment.startsWith('/')) {
      this.#anchors ??= anchorsIn(this.document);
      if (!this.#anchors.has(fragment)) throw lost();
      return this.#anchors.get(fragment);
    }
    let value: unknown = this.document;
    for (const part of fragment.split('/').slice(1)) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
      if (!isThere) throw lost();
      value = (value as JsonValue)[name];
    }
    return value;
  }

  /** The object behind a value that may be a reference; empty for any other value. @throws {Error} it leads nowhere, or in a circle */
  resolved(value: unknown): JsonValue {
    let found = value;
    for (let hops = 0; hops < 32; hops++) {
      if (typeof found !== 'object' || found === null) return {};
      const { $ref } = found as JsonValue;
      if (typeof $ref !== 'string') return found as JsonValue;
      found = this.at($ref);
    }
    throw new Error('a reference leads in a circle');
  }
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    // A percent sign that encodes nothing stands for itself.
    return fragment;
  }
}

/** Schemas by their `$anchor`; the first of a name counts. */
function anchorsIn(document: JsonValue): Map<string, unknown> {
  const anchors = new Map<string, unknown>();
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    const { $anchor } = value as JsonValue;
    if (typeof $anchor === 'string' && !anchors.has($anchor)) anchors.set($anchor, value);
    for (const each of Object.values(value)) visit(each);
  };
  visit(document);
  return anchors;
}
