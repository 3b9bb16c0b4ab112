/**
 * The original text of JSON values with numbers that JavaScript would round, such as integers beyond
 * 2^53. A bridge and a command forward them as they came.
 *
 * Parsed values are ordinary: the text is beside them, and the codec writes it in their place. Only a
 * message with such a number costs more than a look at its values.
 *
 * @see docs/decisions/0077-numbers-that-would-be-rounded.md
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
/** How many objects and arrays of one message have a text. */
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
export function noteNumberTexts(text: string, value: unknown): string | undefined {
  if (!holdsGreatNumber(value)) return undefined;
  const scan = new Scan(text);
  if (!scan.value(value, 0)) return undefined;
  if (scan.duplicate !== undefined) return scan.duplicate;
  const kept = (numberTexts.kept ??= new WeakMap());
  for (const [each, own] of scan.found) kept.set(each, own);
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
  const duplicate = noteNumberTexts(text, value);
  if (duplicate === undefined) return value;
  throw new SyntaxError(`The key ${JSON.stringify(duplicate)} must not be repeated in an object`);
}

/** The text of a value with numbers that would be rounded; undefined for any other. */
export function numberText(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null ? numberTexts.kept?.get(value) : undefined;
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

/** One pass over a text that is known to be JSON, beside its value. */
class Scan {
  readonly found: [value: object, text: string][] = [];
  duplicate: string | undefined = undefined;
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Reads the next value. @returns whether one of its numbers would be rounded */
  value(value: unknown, level: number): boolean {
    const start = this.#space();
    switch (this.#text[start]) {
      case '"':
        this.#at = endOfString(this.#text, start) + 1;
        return false;
      case '{':
      case '[': {
        const holds =
          this.#text[start] === '{' ? this.#object(value, level) : this.#array(value, level);
        if (holds) this.#keep(value, level, start);
        return holds;
      }
      default: {
        token.lastIndex = start;
        const [text = ''] = token.exec(this.#text) ?? [];
        this.#at = start + text.length;
        return isLong.test(text) && isRounded(text);
      }
    }
  }

  #object(value: unknown, level: number): boolean {
    const keys = new Set<string>();
    let holds = false;
    this.#at++;
    while (this.#text[this.#space()] !== '}') {
      if (this.#text[this.#at] === ',') this.#at++;
      const start = this.#space();
      this.#at = endOfString(this.#text, start) + 1;
      const key = JSON.parse(this.#text.slice(start, this.#at)) as string;
      if (keys.has(key)) this.duplicate ??= key;
      keys.add(key);
      this.#at = this.#space() + 1;
      if (this.value(isJsonObject(value) ? value[key] : undefined, level + 1)) holds = true;
    }
    this.#at++;
    return holds;
  }

  #array(value: unknown, level: number): boolean {
    let holds = false;
    this.#at++;
    for (let nth = 0; this.#text[this.#space()] !== ']'; nth++) {
      if (this.#text[this.#at] === ',') this.#at++;
      const each: unknown = Array.isArray(value) ? value[nth] : undefined;
      if (this.value(each, level + 1)) holds = true;
    }
    this.#at++;
    return holds;
  }

  #keep(value: unknown, level: number, start: number): void {
    if (level > maxLevel || this.found.length >= maxTexts) return;
    if (typeof value !== 'object' || value === null) return;
    // A line feed would end the message that the text becomes a part of.
    this.found.push([value, this.#text.slice(start, this.#at).replaceAll(/[\r\n]/g, ' ')]);
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
