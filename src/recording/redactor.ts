/**
 * Replaces secrets in a recording so that it still replays: the same secret gets the same
 * placeholder everywhere, and only texts and numbers are replaced.
 */
import { redactText } from '../diagnosis/redaction.ts';
import { isSecretKey, withoutGiven } from '../diagnosis/secrets.ts';

/** So many different secrets get placeholders of their own; all later ones share one. */
const maxSecrets = 10_000;

export class Redactor {
  readonly #places = new Map<string | number, string>();
  #given: readonly string[] = [];

  /** Replaces these texts too from now on, wherever they stand. */
  conceal(given: readonly string[]): void {
    this.#given = given;
  }

  /**
   * The value as JSON without its secrets; undefined if JSON cannot express it, such as a function.
   *
   * @throws what `JSON.stringify` throws, such as for a value that nests too deep
   */
  json(value: unknown): string | undefined {
    /** Objects and arrays whose key names a secret. */
    const secretive = new Set<unknown>();
    const shown = (holder: unknown, key: string, item: unknown): unknown => {
      const isSecret = secretive.has(holder) || (!Array.isArray(holder) && isSecretKey(key));
      if (typeof item === 'string') return isSecret ? this.#place(item) : this.#text(item);
      if (typeof item === 'number') return isSecret ? this.#place(item) : item;
      if (typeof item !== 'object' || item === null) return item;
      const copy = this.#withoutSecretNames(item);
      // `password: {type: 'string'}` describes a secret and holds none.
      if (isSecret && !isSchema(item)) secretive.add(copy);
      return copy;
    };
    return JSON.stringify(value, function (this: unknown, key: string, item: unknown) {
      return shown(this, key, item);
    });
  }

  #text(text: string): string {
    const place = (secret: string): string => this.#place(secret);
    return redactText(withoutGiven(text, this.#given, place), Infinity, place);
  }

  /** The object itself, or a copy if the name of a member contains a secret. */
  #withoutSecretNames(value: object): object {
    const names = Array.isArray(value) ? [] : Object.keys(value);
    if (names.every((name) => this.#text(name) === name)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [this.#text(name), item as unknown]),
    );
  }

  #place(secret: string | number): string {
    const known = this.#places.get(secret);
    if (known !== undefined) return known;
    if (this.#places.size >= maxSecrets) return '[redacted]';
    const place = `[redacted ${this.#places.size + 1}]`;
    this.#places.set(secret, place);
    return place;
  }
}

function isSchema(value: object): boolean {
  const { type, $ref } = value as { readonly type?: unknown; readonly $ref?: unknown };
  return Array.isArray(type) || types.has(type) || typeof $ref === 'string';
}

const types = new Set<unknown>([
  'string',
  'number',
  'integer',
  'boolean',
  'object',
  'array',
  'null',
]);
