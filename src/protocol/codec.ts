/** Decodes lines into frames and encodes frames into lines. Never throws, whatever a peer sends. */
import { classify, isJsonObject, isRequestId } from './classify.ts';
import { ErrorCode, errorResponse, internalError } from './errors.ts';
import type {
  InboundRequestId,
  InboundFrame,
  InvalidFrame,
  OutboundFrame,
  OutboundMessage,
  OutboundRequestId,
  WireError,
} from './frames.ts';
import { requestsAnsweredBy } from './answered-ids.ts';
import { endOfString, jsonText, recordNumberTexts, numberTexts } from './number-text.ts';
import { quoted } from './printable.ts';

/** Decodes one line, without its line feed. Nesting deeper than `maxDepth` is an error. */
export function decodeLine(line: string, maxDepth: number): InboundFrame {
  if (exceedsDepth(line, maxDepth)) return unreadableLine(tooDeep(maxDepth), line);
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    const frame = unreadableLine(parseError((error as SyntaxError).message), line);
    return /^\s*[[{]/.test(line) ? frame : { ...frame, text: line.slice(0, maxQuotedText) };
  }
  const duplicate = numberTexts.isOn ? recordNumberTexts(line, value) : undefined;
  if (duplicate === undefined) return classify(value, line.length);
  const error = parseError(`The key ${quoted(duplicate, 60)} must not be repeated in an object`);
  return { kind: 'invalid', error, ...requestOf(value) };
}

/** Maximum length of quoted plain text, UTF-16 units. */
const maxQuotedText = 200;

/** Describes an invalid frame from a server. Plain text was most likely printed by mistake. */
export function describeServerFrame({ text, error }: InvalidFrame): string {
  return text === undefined
    ? error.message
    : `The server printed text to stdout, which is reserved for messages: ${quoted(text, maxQuotedText)}`;
}

/** The frame of an unreadable line, with the ids of the requests it answers. */
export function unreadableLine(error: WireError, line: string): InvalidFrame {
  const answers = requestsAnsweredBy(line);
  return answers.length === 0 ? { kind: 'invalid', error } : { kind: 'invalid', error, answers };
}

/**
 * Like {@link decodeLine}, for a parsed value.
 * @returns the frame, and the approximate length of its text
 */
export function decodeValue(
  value: unknown,
  { maxDepth, maxLineBytes }: { readonly maxDepth: number; readonly maxLineBytes: number },
): { readonly frame: InboundFrame; readonly size: number } {
  const size = textLength(value, maxDepth);
  if (size <= maxLineBytes) return { frame: classify(value, size), size };
  // Nesting too deep is reported as infinite size.
  const isTooDeep = size === Infinity;
  const error = isTooDeep ? tooDeep(maxDepth) : tooLong(maxLineBytes);
  const frame: InvalidFrame = { kind: 'invalid', error, ...requestOf(value) };
  return { frame, size: isTooDeep ? 0 : size };
}

/** The id of the request that a value is or answers. */
function requestOf(value: unknown): Pick<InvalidFrame, 'id' | 'answers'> {
  const { id, method, ...rest } = isJsonObject(value) ? value : {};
  if (!isRequestId(id)) return {};
  const isAnswer = method === undefined && ('result' in rest || 'error' in rest);
  return isAnswer ? { answers: [id as OutboundRequestId] } : { id: id as InboundRequestId };
}

/** Approximate length of a value's JSON; Infinity if it nests deeper than `levels`. */
export function textLength(value: unknown, levels = 256): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 4;
  if (levels === 0) return Infinity;
  let length = 2;
  if (Array.isArray(value)) {
    for (const member of value) length += textLength(member, levels - 1) + 1;
  } else {
    for (const [name, member] of Object.entries(value)) {
      length += name.length + 4 + textLength(member, levels - 1);
    }
  }
  return length;
}

/** The error for a message that is too long. */
export function tooLong(maxLineBytes: number): WireError {
  const message = `Invalid request: a message must be at most ${maxLineBytes} bytes; this one was skipped`;
  return { code: ErrorCode.invalidRequest, message };
}

function tooDeep(maxDepth: number): WireError {
  const message = `Invalid request: a message must nest at most ${maxDepth} levels deep`;
  return { code: ErrorCode.invalidRequest, message };
}

/** The error for a line that is not JSON. The reason is truncated, as it may echo hostile text. */
export function parseError(reason: string): WireError {
  return { code: ErrorCode.parseError, message: `Parse error: ${reason.slice(0, 200)}` };
}

/**
 * True if the text nests deeper than `maxDepth`. Checked before parsing, because parsing already
 * allocates. Most lines need no scan: they are too short or have too few brackets.
 */
export function exceedsDepth(text: string, maxDepth: number): boolean {
  if (text.length <= maxDepth * 2) return false;
  if (!hasMoreThan(maxDepth, text)) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22: // a string: skip to its end
        at = endOfString(text, at);
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > maxDepth) return true;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
    }
  }
  return false;
}

function hasMoreThan(limit: number, text: string): boolean {
  let count = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++count > limit) return true;
    }
  }
  return false;
}

/** Called for a message that is not JSON (a cycle, a BigInt). */
export type Unserializable = (message: OutboundMessage, error: unknown) => void;

/**
 * Encodes a frame as one line with a line feed. Never throws. A message that is not JSON is passed
 * to `onUnserializable` without affecting others: a response becomes `-32603`, a request or
 * notification is dropped.
 */
export function encodeFrame(frame: OutboundFrame, onUnserializable: Unserializable): string {
  if (!('length' in frame)) {
    const text = encodeMessage(frame, onUnserializable);
    return text === '' ? '' : text + '\n';
  }
  try {
    return joined(frame.map((message) => encodeMessage(message, onUnserializable)));
  } catch (error) {
    // Each response fits into a string, but the whole batch does not.
    for (const message of frame) onUnserializable(message, error);
    return joined(frame.map(({ id }) => JSON.stringify(errorResponse(id, internalError))));
  }
}

function joined(messages: readonly string[]): string {
  return `[${messages.join(',')}]\n`;
}

function encodeMessage(message: OutboundMessage, onUnserializable: Unserializable): string {
  try {
    if ('result' in message) checkResult(message.result);
    return numberTexts.kept ? jsonText(message) : JSON.stringify(message);
  } catch (error) {
    onUnserializable(message, error);
    return 'method' in message ? '' : JSON.stringify(errorResponse(message.id, internalError));
  }
}

/** Rejects a result whose `toJSON` returns something other than an object, as a Date does. */
function checkResult(result: object): void {
  if (!('toJSON' in result) || typeof result.toJSON !== 'function') return;
  if (JSON.stringify(result)?.startsWith('{')) return;
  throw new TypeError('the result must be an object, its toJSON returned something else');
}
