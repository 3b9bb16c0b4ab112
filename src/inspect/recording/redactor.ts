/**
 * Takes secrets out of what is recorded, so that it still replays: the same secret is the same placeholder wherever it stands, and nothing but
 * texts and numbers is replaced.
 */
import { isSecretKey, redactText } from '../redaction.ts';

/** Different secrets that are told apart; what comes after them shares one placeholder. */
const maxSecrets = 10_000;

export class Redactor {
  readonly #places = new Map<string | number, string>();

  /** A copy without secrets. What JSON would make of it is the same but for them. */
  redact<T>(value: T): T {
    return this.#copy(value, false) as T;
  }

  /** The same for a text. */
  text(text: string): string {
    return redactText(text, Infinity, (secret) => this.#place(secret));
  }

  #copy(value: unknown, isSecret: boolean): unknown {
    if (typeof value === 'string') return isSecret ? this.#place(value) : this.text(value);
    if (typeof value === 'number') return isSecret ? this.#place(value) : value;
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.#copy(item, isSecret));
    // The schema of a secret is none.
    const isBelow = isSecret && !isSchema(value);
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        this.#copy(item, isBelow || isSecretKey(key)),
      ]),
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
