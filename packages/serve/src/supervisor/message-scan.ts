/**
 * Reads the envelope of a JSON-RPC message from its bytes: where the members stand that say which message it is. A
 * supervisor passes every other byte on unread, and parsing whole messages would cost it as much as it costs the server.
 */

const byteOrderMark = Buffer.from('\ufeff');
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** The place of a JSON value in a line: its first byte, and the one after its last. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A message in a line. */
export interface ScannedMessage {
  /** The whole message. */
  readonly span: Span;
  /** Identifies a request among those of one peer: equal for ids that are equal as JSON. Undefined without an id. */
  readonly id: string | undefined;
  readonly idSpan: Span | undefined;
  /** Undefined for a response. */
  readonly method: string | undefined;
  readonly params: Span | undefined;
  /** True for a response that has an `error`. */
  readonly isError: boolean;
}

/** The message of a line, the messages of a batch, or undefined for a line that is no JSON-RPC. */
export function scanLine(line: Buffer): ScannedMessage | readonly ScannedMessage[] | undefined {
  const at = afterSpace(line, line[0] === byteOrderMark[0] ? byteOrderMark.length : 0);
  if (line[at] === openBrace) return scanMessage(line, at);
  return line[at] === openBracket ? scanBatch(line, at) : undefined;
}

/** The message of a line that holds one message. */
export function scanOne(line: Buffer): ScannedMessage | undefined {
  const found = scanLine(line);
  return isBatch(found) ? undefined : found;
}

/** True for the messages of a batch. */
export function isBatch(found: ReturnType<typeof scanLine>): found is readonly ScannedMessage[] {
  return Array.isArray(found);
}

function scanBatch(line: Buffer, start: number): readonly ScannedMessage[] {
  const messages: ScannedMessage[] = [];
  let at = afterSpace(line, start + 1);
  while (line[at] === openBrace) {
    const message = scanMessage(line, at);
    if (!message) return [];
    messages.push(message);
    at = afterSpace(line, message.span.to);
    if (line[at] === closeBracket) return messages;
    if (line[at] !== comma) return [];
    at = afterSpace(line, at + 1);
  }
  return [];
}

function scanMessage(line: Buffer, start: number): ScannedMessage | undefined {
  const members = membersOf(line, start, envelope);
  if (!members) return undefined;
  const { id, method, params, error } = members.found;
  return {
    span: { from: start, to: members.to },
    id: id && idOf(line, id),
    idSpan: id,
    method: method && textOf(line, method),
    params,
    isError: error !== undefined,
  };
}

const envelope: readonly string[] = ['id', 'method', 'params', 'error'];

/**
 * The place of one member of an object.
 *
 * @param object an object in the line
 * @returns undefined if there is no such member, or `object` is something else
 */
export function memberOf(line: Buffer, object: Span, name: string): Span | undefined {
  if (line[object.from] !== openBrace) return undefined;
  return membersOf(line, object.from, [name])?.found[name];
}

/** True if the value is an object without members. */
export function isEmptyObject(line: Buffer, { from, to }: Span): boolean {
  return line[from] === openBrace && afterSpace(line, from + 1) === to - 1;
}

/** True if the value is an object. */
export function isObject(line: Buffer, { from }: Span): boolean {
  return line[from] === openBrace;
}

/** The text of a string in a line; undefined for another value. */
export function textOf(line: Buffer, { from, to }: Span): string | undefined {
  if (line[from] !== quote) return undefined;
  const text = line.toString('utf8', from + 1, to - 1);
  return text.includes('\\') ? unescaped(`"${text}"`) : text;
}

function unescaped(text: string): string | undefined {
  try {
    return JSON.parse(text) as string;
  } catch {
    return undefined;
  }
}

/** The id at a place. Different spellings of one id are the same: `1.0` and `1`, `"a"` and `"\u0061"`. */
export function idOf(line: Buffer, span: Span): string | undefined {
  const text = textOf(line, span);
  if (text !== undefined) return `"${text}`;
  const number = line.toString('latin1', span.from, span.to);
  if (/^-?\d+$/.test(number)) return number;
  return Number.isNaN(Number(number)) ? undefined : String(Number(number));
}

interface Members {
  readonly found: { readonly [name: string]: Span | undefined };
  /** The byte after the object. */
  readonly to: number;
}

/** Finds the wanted members of an object; of several with one name the last, as `JSON.parse` does. */
function membersOf(line: Buffer, start: number, wanted: readonly string[]): Members | undefined {
  const found: { [name: string]: Span | undefined } = {};
  let at = afterSpace(line, start + 1);
  if (line[at] === closeBrace) return { found, to: at + 1 };
  while (line[at] === quote) {
    const keyAt = at;
    const keyEnd = afterString(line, at);
    at = afterSpace(line, keyEnd);
    if (line[at] !== colon) return undefined;
    const from = afterSpace(line, at + 1);
    const to = afterValue(line, from);
    if (to === -1) return undefined;
    const name = nameAt(line, keyAt, keyEnd, wanted);
    if (name !== undefined) found[name] = { from, to };
    at = afterSpace(line, to);
    if (line[at] === closeBrace) return { found, to: at + 1 };
    if (line[at] !== comma) return undefined;
    at = afterSpace(line, at + 1);
  }
  return undefined;
}

/** The wanted name that a key is; keys without escapes are compared as bytes. */
function nameAt(
  line: Buffer,
  from: number,
  to: number,
  wanted: readonly string[],
): string | undefined {
  for (let at = from; at < to; at++) {
    if (line[at] !== backslash) continue;
    const text = textOf(line, { from, to });
    return wanted.find((name) => name === text);
  }
  for (const name of wanted) {
    if (name.length !== to - from - 2) continue;
    let same = 0;
    while (same < name.length && line[from + 1 + same] === name.charCodeAt(same)) same++;
    if (same === name.length) return name;
  }
  return undefined;
}

function afterSpace(line: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const byte = line[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

/** The byte after a value; -1 if the line ends in it. */
function afterValue(line: Buffer, start: number): number {
  const first = line[start];
  if (first === quote) return afterString(line, start);
  if (first !== openBrace && first !== openBracket) return afterScalar(line, start);
  let depth = 0;
  for (let at = start; at < line.length; at++) {
    const byte = line[at];
    if (byte === quote) {
      const end = afterString(line, at);
      if (end === -1) return -1;
      at = end - 1;
    } else if (byte === openBrace || byte === openBracket) {
      depth++;
    } else if (byte === closeBrace || byte === closeBracket) {
      if (--depth === 0) return at + 1;
    }
  }
  return -1;
}

function afterScalar(line: Buffer, start: number): number {
  let at = start;
  for (; at < line.length; at++) {
    const byte = line[at] as number;
    if (byte <= 0x20 || byte === comma || byte === closeBrace || byte === closeBracket) break;
  }
  return at === start ? -1 : at;
}

/** Bytes of a string to read one by one before searching for its end: a native search costs as much. */
const searchedAfter = 48;

/** The byte after a string; -1 if the line ends in it. */
function afterString(line: Buffer, start: number): number {
  const near = Math.min(line.length, start + searchedAfter);
  let at = start + 1;
  for (; at < near; at++) {
    const byte = line[at];
    if (byte === quote) return at + 1;
    if (byte === backslash) at++;
  }
  for (;;) {
    const end = line.indexOf(quote, at);
    if (end === -1) return -1;
    let backslashes = 0;
    while (end - backslashes > at && line[end - backslashes - 1] === backslash) backslashes++;
    at = end + 1;
    if (backslashes % 2 === 0) return at;
  }
}
