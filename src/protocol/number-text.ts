/**
 * The original text of JSON values with numbers that JavaScript would round, such as integers beyond
 * 2^53. A bridge and a command forward them as they came.
 *
 * Parsed values are ordinary: the text is beside them, and the codec writes it in their place. Only a
 * message with such a number costs more than a look at its values.
 *
 * @see docs/maintaining/decisions/19-nothing-is-sent-twice.md
 */
import { isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';

/** What this process keeps. The codec reads it before it calls anything here. */
export const numberTexts: {
  /** True once something in this process forwards parsed messages. */
  isOn: boolean;
  /** Undefined before the first text is kept. */
  kept: WeakMap<object, string> | undefined;
} = { isOn: false, kept: undefined };

/** Objects and arrays below this level of a message have no text of their own. */
const maxLevel = 5;
/** Limit of objects and arrays with a text, for each level of a message: its outermost ones always have one. */
const maxTexts = 1000;

/** A number that may be rounded: sixteen digits, or a great exponent. */
const isLong = /[\d.]{16}|[eE][+-]?\d{3}/;
const token = /[^\s,\]}]+/y;

/** From now on texts are kept in this process. */
export function keepNumberTexts(): void {
  numberTexts.isOn = true;
}

/**
 * Keeps the texts of a value that was just parsed, if one of its numbers would be rounded.
 *
 * @returns a duplicate key: its text must not be forwarded, since readers differ in which value they take
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
 * Parses JSON, and keeps the texts of numbers that would be rounded.
 *
 * @throws {SyntaxError} the text is not JSON, or repeats a key beside such a number
 */
export function parseExactly(text: string): unknown {
  keepNumberTexts();
  const value: unknown = JSON.parse(text);
  const duplicate = recordNumberTexts(text, value);
  if (duplicate === undefined) return value;
  throw new SyntaxError(`The key ${JSON.stringify(duplicate)} must not be repeated in an object`);
}

/** The text of a value with numbers that would be rounded; undefined for any other. */
export function numberText(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null ? numberTexts.kept?.get(value) : undefined;
}

/**
 * A copy of a value that has a text, with a string in place of each number that would be rounded. `jsonText` writes
 * the objects and arrays of the copy with their numbers. Any other value is returned itself.
 */
export function exactNumbers(value: unknown): unknown {
  const text = numberText(value);
  if (text === undefined) return value;
  const scan = new Scan(text, Infinity, Infinity);
  const exact = scan.value(value, 0);
  for (const each of scan.found) numberTexts.kept?.set(each.exact, each.text);
  return exact;
}

/** Whether JSON.parse and JSON.stringify change a number. */
function isRounded(number: string): boolean {
  return JSON.stringify(Number(number)) !== number;
}

/** As `JSON.stringify`, with the kept texts in their places. */
export function jsonText(value: unknown, space?: number): string {
  if (!numberTexts.kept || !holdsText(value, maxLevel))
    return JSON.stringify(value, undefined, space);
  return written(value, maxLevel) ?? 'null';
}

/** Looks at the values, since a search in the text takes longer than parsing it. */
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

/** @returns undefined for what JSON leaves out */
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

/** One pass over a text that is known to be JSON, beside its value. */
class Scan {
  readonly found: Found[] = [];
  duplicate: string | undefined = undefined;
  readonly #text: string;
  readonly #maxLevel: number;
  readonly #maxTexts: number;
  /** Found values by level. */
  readonly #counts: number[] = [];
  #at = 0;

  constructor(text: string, maxLevel: number, maxTexts: number) {
    // A line feed would end the message that a kept text becomes a part of.
    this.#text = text.replaceAll(/[\r\n]/g, ' ');
    this.#maxLevel = maxLevel;
    this.#maxTexts = maxTexts;
  }

  /** Reads the next value. @returns the value itself, or a copy with strings in place of numbers that would be rounded */
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
      // An assignment to `__proto__` would define no member.
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

  /** Skips white space. @returns where the next token begins */
  #space(): number {
    while (this.#text.charCodeAt(this.#at) <= 0x20) this.#at++;
    return this.#at;
  }
}

/** The index of the quote that ends the string which starts here; the length of the text if none does. */
export function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}
