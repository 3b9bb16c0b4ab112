/**
 * Preserves the text of JSON numbers that JavaScript would round, such as integers beyond 2^53, for
 * programs that forward them (bridge, command).
 *
 * Parsed values stay ordinary: the text is stored beside them, and the codec writes it in their
 * place. Messages without such numbers cost only a scan of their values.
 *
 * @see docs/maintaining/decisions/19-nothing-is-sent-twice.md
 */
import { isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';

/** State of this process. The codec checks it before calling anything here. */
export const numberTexts: {
  /** True once this process forwards parsed messages. */
  isOn: boolean;
  /** Stored texts; undefined before the first. */
  kept: WeakMap<object, string> | undefined;
} = { isOn: false, kept: undefined };

/** Deepest level whose objects and arrays get a text of their own. */
const maxLevel = 5;
/** Maximum number of texts per level. The outermost values always get one. */
const maxTexts = 1000;

/** Matches numbers that may be rounded: sixteen digits, or a large exponent. */
const isLong = /[\d.]{16}|[eE][+-]?\d{3}/;
const token = /[^\s,\]}]+/y;

/** Starts storing texts in this process. */
export function keepNumberTexts(): void {
  numberTexts.isOn = true;
}

/**
 * Stores the texts of a just parsed value if a number in it would be rounded.
 *
 * @returns a duplicate key, if any: such text must not be forwarded, since parsers differ in which
 *   value they use
 */
export function recordNumberTexts(text: string, value: unknown): string | undefined {
  if (!holdsGreatNumber(value)) return undefined;
  const scan = new Scan(text, maxLevel, maxTexts);
  if (scan.value(value, 0) === value) return undefined;
  if (scan.duplicate !== undefined) return scan.duplicate;
  const kept = (numberTexts.kept ??= new WeakMap());
  for (const { value: each, text: own } of scan.found) kept.set(each, own);
  return undefined;
}

/**
 * Parses JSON and stores the texts of numbers that would be rounded.
 *
 * @throws {SyntaxError} the text is not JSON, or has duplicate keys besides such a number
 */
export function parseExactly(text: string): unknown {
  keepNumberTexts();
  const value: unknown = JSON.parse(text);
  const duplicate = recordNumberTexts(text, value);
  if (duplicate === undefined) return value;
  throw new SyntaxError(`The key ${JSON.stringify(duplicate)} must not be repeated in an object`);
}

/** The stored text of a value; undefined for values without such numbers. */
export function numberText(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null ? numberTexts.kept?.get(value) : undefined;
}

/**
 * Copies a value that has a stored text, replacing each number that would be rounded by a string.
 * `jsonText` writes the copy's objects and arrays with their numbers. Returns other values
 * unchanged.
 */
export function exactNumbers(value: unknown): unknown {
  const text = numberText(value);
  if (text === undefined) return value;
  const scan = new Scan(text, Infinity, Infinity);
  const exact = scan.value(value, 0);
  for (const each of scan.found) numberTexts.kept?.set(each.exact, each.text);
  return exact;
}

/** True if a number does not survive JSON.parse and JSON.stringify. */
function isRounded(number: string): boolean {
  return JSON.stringify(Number(number)) !== number;
}

/** Like `JSON.stringify`, with the stored texts in place. */
export function jsonText(value: unknown, space?: number): string {
  if (!numberTexts.kept || !holdsText(value, maxLevel))
    return JSON.stringify(value, undefined, space);
  return written(value, maxLevel) ?? 'null';
}

/** Scans the values, because searching the text takes longer than parsing it. */
function holdsGreatNumber(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(holdsGreatNumber);
  for (const key in value) if (holdsGreatNumber((value as JsonObject)[key])) return true;
  return false;
}

function holdsText(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (numberText(value) !== undefined) return true;
  if (levels === 0) return false;
  return Object.values(value).some((each) => holdsText(each, levels - 1));
}

/** @returns undefined for values that JSON omits */
function written(value: unknown, levels: number): string | undefined {
  const own = numberText(value);
  if (own !== undefined) return own;
  if (levels === 0 || !holdsText(value, levels)) return JSON.stringify(value);
  if (Array.isArray(value)) {
    return `[${value.map((each) => written(each, levels - 1) ?? 'null').join(',')}]`;
  }
  if (!isJsonObject(value) || 'toJSON' in value) return JSON.stringify(value);
  const members = Object.entries(value).flatMap(([key, each]) => {
    const text = written(each, levels - 1);
    return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`];
  });
  return `{${members.join(',')}}`;
}

/** An object or array with a number that would be rounded. */
interface Found {
  readonly value: object;
  /** The copy with strings in place of such numbers. */
  readonly exact: object;
  readonly text: string;
}

/** A single pass over valid JSON text alongside its value. */
class Scan {
  readonly found: Found[] = [];
  duplicate: string | undefined = undefined;
  readonly #text: string;
  readonly #maxLevel: number;
  readonly #maxTexts: number;
  /** Number of texts per level. */
  readonly #counts: number[] = [];
  #at = 0;

  constructor(text: string, maxLevel: number, maxTexts: number) {
    // A line feed would end the message that contains the stored text.
    this.#text = text.replaceAll(/[\r\n]/g, ' ');
    this.#maxLevel = maxLevel;
    this.#maxTexts = maxTexts;
  }

  /**
   * Reads the next value. @returns the value itself, or a copy with strings in place of rounded
   * numbers
   */
  value(value: unknown, level: number): unknown {
    const start = this.#space();
    switch (this.#text[start]) {
      case '"':
        this.#at = endOfString(this.#text, start) + 1;
        return value;
      case '{':
      case '[': {
        const exact =
          this.#text[start] === '{' ? this.#object(value, level) : this.#array(value, level);
        if (exact !== value) this.#keep(value as object, exact as object, level, start);
        return exact;
      }
      default: {
        token.lastIndex = start;
        const [text = ''] = token.exec(this.#text) ?? [];
        this.#at = start + text.length;
        return isLong.test(text) && isRounded(text) ? text : value;
      }
    }
  }

  #object(value: unknown, level: number): unknown {
    const keys = new Set<string>();
    let exact = value;
    this.#at++;
    while (this.#text[this.#space()] !== '}') {
      if (this.#text[this.#at] === ',') this.#at++;
      const start = this.#space();
      this.#at = endOfString(this.#text, start) + 1;
      const key = JSON.parse(this.#text.slice(start, this.#at)) as string;
      if (keys.has(key)) this.duplicate ??= key;
      keys.add(key);
      this.#at = this.#space() + 1;
      const member = isJsonObject(value) ? value[key] : undefined;
      const own = this.value(member, level + 1);
      if (own === member) continue;
      if (exact === value) exact = { ...(value as object) };
      // Assigning to `__proto__` would not define a member.
      Object.defineProperty(exact, key, { value: own, enumerable: true });
    }
    this.#at++;
    return exact;
  }

  #array(value: unknown, level: number): unknown {
    let exact: unknown[] | undefined;
    this.#at++;
    for (let nth = 0; this.#text[this.#space()] !== ']'; nth++) {
      if (this.#text[this.#at] === ',') this.#at++;
      const each: unknown = Array.isArray(value) ? value[nth] : undefined;
      const own = this.value(each, level + 1);
      if (own !== each) (exact ??= [...(value as unknown[])])[nth] = own;
    }
    this.#at++;
    return exact ?? value;
  }

  #keep(value: object, exact: object, level: number, start: number): void {
    if (typeof value !== 'object' || value === null) return;
    const count = this.#counts[level] ?? 0;
    if (level > this.#maxLevel || count >= this.#maxTexts) return;
    this.#counts[level] = count + 1;
    this.found.push({ value, exact, text: this.#text.slice(start, this.#at) });
  }

  /** Skips white space. @returns index of the next token */
  #space(): number {
    while (this.#text.charCodeAt(this.#at) <= 0x20) this.#at++;
    return this.#at;
  }
}

/** Index of the quote that ends the string starting here; the text's length if there is none. */
export function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}
