/**
 * Which requests a text answers that cannot be read whole: it is too long, nests too deep, or is not JSON.
 * Its beginning or its end may say so, since servers put the id before a result or behind it.
 */
import type { OutboundRequestId } from './frames.ts';
import { endOfString } from './number-text.ts';

/** So many bytes, or characters, are looked at, at either end. */
export const idSearchLength = 256;

const id = String.raw`(?<id>-?\d{1,16}|"(?:[^"\\]|\\.)*")`;
const version = String.raw`"jsonrpc"\s*:\s*"2\.0"\s*,\s*`;
const answer = String.raw`"(?:result|error)"\s*:`;
const idFirst = new RegExp(
  String.raw`^\uFEFF?\s*\{\s*(?:${version})?"id"\s*:\s*${id}\s*,\s*(?:${version})?${answer}`,
);
const idLater = new RegExp(String.raw`^\uFEFF?\s*\{\s*(?:${version})?${answer}`);
/** Text in a string has its quotes escaped, so this is a member of the text's own object. */
const idLast = new RegExp(
  String.raw`,\s*"id"\s*:\s*${id}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`,
);

/** The request that the beginning of an answer names; `later` if its end may; else undefined. */
export function leadingAnswerId(beginning: string): OutboundRequestId | 'later' | undefined {
  return idIn(idFirst.exec(beginning)) ?? (idLater.test(beginning) ? 'later' : undefined);
}

/** The request that the end of an answer names. */
export function trailingAnswerId(end: string): OutboundRequestId | undefined {
  return idIn(idLast.exec(end));
}

/** Objects of one text that are searched for an id: a hostile line holds millions of empty ones. */
const maxObjects = 1000;

/**
 * The requests that a text answers, as far as it can be told. A line may hold several messages, and
 * other text before one.
 */
export function requestsAnsweredBy(text: string): readonly OutboundRequestId[] {
  const named: OutboundRequestId[] = [];
  let start = text.indexOf('{');
  for (let count = 0; start !== -1 && count < maxObjects; count++) {
    const end = endOfObject(text, start);
    const at = leadingAnswerId(text.slice(start, Math.min(end, start + idSearchLength)));
    const id =
      at === 'later'
        ? trailingAnswerId(text.slice(Math.max(start, end - idSearchLength), end))
        : at;
    if (id !== undefined) named.push(id);
    start = text.indexOf('{', end);
  }
  return named;
}

/** The index behind an object; the text's length if the object does not end. */
function endOfObject(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfString(text, at);
    else if (code === 0x7b) depth++;
    else if (code === 0x7d && --depth === 0) return at + 1;
  }
  return text.length;
}

function idIn(found: RegExpExecArray | null): OutboundRequestId | undefined {
  try {
    const text = found?.groups?.['id'];
    return text === undefined ? undefined : (JSON.parse(text) as OutboundRequestId);
  } catch {
    // What its quotes hold need not be JSON.
    return undefined;
  }
}
