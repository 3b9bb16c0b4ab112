import type { JsonValue } from './document.ts';

/** Resolves references within a document. */
export class References {
  readonly document: JsonValue;
  #anchors: Map<string, unknown> | undefined;

  constructor(document: JsonValue) {
    this.document = document;
  }

  /** @throws {Error} if the target does not exist */
  target(reference: string): unknown {
    const noTarget = () => new Error(`reference "${reference}" has no target`);
    if (!reference.startsWith('#')) throw noTarget();
    const fragment = decodeFragment(reference.slice(1));
    if (fragment !== '' && !fragment.startsWith('/')) {
      this.#anchors ??= anchorsIn(this.document);
      if (!this.#anchors.has(fragment)) throw noTarget();
      return this.#anchors.get(fragment);
    }
    let value: unknown = this.document;
    for (const part of fragment.split('/').slice(1)) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
      if (!isThere) throw noTarget();
      value = (value as JsonValue)[name];
    }
    return value;
  }

  /**
   * Resolves an object that may be a reference; returns an empty object for non-objects.
   *
   * @throws {Error} if a target does not exist, or references form a cycle
   */
  resolve(value: unknown): JsonValue {
    let found = value;
    for (let hops = 0; hops < 32; hops++) {
      if (typeof found !== 'object' || found === null) return {};
      const { $ref } = found as JsonValue;
      if (typeof $ref !== 'string') return found as JsonValue;
      found = this.target($ref);
    }
    throw new Error('references form a cycle');
  }
}

function decodeFragment(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    // Accept a malformed percent encoding literally.
    return fragment;
  }
}

/** Schemas by `$anchor`; the first of each name wins. */
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
