/**
 * Which request a text answers that cannot be read whole: it is too long, nests too deep, or is not JSON.
 * Its beginning or its end may say so, since servers put the id before a result or behind it.
 */
import type { OutboundRequestId } from './frames.ts';

/** So many bytes, or characters, are looked at, at either end. */
export const namingLength = 256;

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
export function namedAtBeginning(beginning: string): OutboundRequestId | 'later' | undefined {
  return idIn(idFirst.exec(beginning)) ?? (idLater.test(beginning) ? 'later' : undefined);
}

/** The request that the end of an answer names. */
export function namedAtEnd(end: string): OutboundRequestId | undefined {
  return idIn(idLast.exec(end));
}

/** The request that a text answers, as far as it can be told. */
export function requestAnsweredBy(text: string): OutboundRequestId | undefined {
  const named = namedAtBeginning(text.slice(0, namingLength));
  return named === 'later' ? namedAtEnd(text.slice(-namingLength)) : named;
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
