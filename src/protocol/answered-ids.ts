/**
 * Finds the ids of the requests that an unreadable text answers: one that is too long, nests too
 * deep, or is not JSON. Servers write the id before or after the result, so its beginning and end
 * are searched.
 */
import type { OutboundRequestId } from './frames.ts';
import { endOfString } from './number-text.ts';

/** Length searched at either end, bytes or characters. */
export const idSearchLength = 256;

const id = String.raw`(?<id>-?\d{1,16}|"(?:[^"\\]|\\.)*")`;
const version = String.raw`"jsonrpc"\s*:\s*"2\.0"\s*,\s*`;
const answer = String.raw`"(?:result|error)"\s*:`;
const idFirst = new RegExp(
  String.raw`^\uFEFF?\s*\{\s*(?:${version})?"id"\s*:\s*${id}\s*,\s*(?:${version})?${answer}`,
);
const idLater = new RegExp(String.raw`^\uFEFF?\s*\{\s*(?:${version})?${answer}`);
/** Quotes inside strings are escaped, so a match is a member of the outer object. */
const idLast = new RegExp(
  String.raw`,\s*"id"\s*:\s*${id}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`,
);

/** The id at the beginning of a response; `later` if its end may have it; otherwise undefined. */
export function leadingAnswerId(beginning: string): OutboundRequestId | 'later' | undefined {
  return idIn(idFirst.exec(beginning)) ?? (idLater.test(beginning) ? 'later' : undefined);
}

/** The id at the end of a response. */
export function trailingAnswerId(end: string): OutboundRequestId | undefined {
  return idIn(idLast.exec(end));
}

/** Maximum number of objects searched: a hostile line may contain millions of empty ones. */
const maxObjects = 1000;

/**
 * The ids of the requests that a text answers, as far as they can be found. A line may hold several
 * messages and other text before one.
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

/** Index after the end of an object; the text's length if it does not end. */
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
    // The quoted text may be invalid JSON.
    return undefined;
  }
}
