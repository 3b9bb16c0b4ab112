/** Tool policies: filters, confirmation by a person, and rate limits. */
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';

/** Filter of a server's tools in the merged list. `*` in a name matches any text. */
export interface ToolFilter {
  /** Default: all. */
  readonly allow?: readonly string[];
  /** Takes precedence over `allow`. */
  readonly deny?: readonly string[];
}

/**
 * Policies for tools behind a bridge. A pattern is a name in which `*` matches any text, or an
 * annotation: `@readOnly`, `@destructive`, `@idempotent`, `@openWorld`. Annotations are the
 * server's claims about its tools; the protocol's defaults apply without them, so a tool counts as
 * destructive unless it claims otherwise.
 */
export interface ToolPolicies {
  /** Only these tools are offered. Default: all. */
  readonly allow?: readonly string[];
  /** Tools that are never offered; takes precedence over `allow`. */
  readonly deny?: readonly string[];
  /** Tools whose calls a person must confirm, in a form shown by the host. */
  readonly ask?: readonly string[];
  /**
   * Rate limit per principal and tool, by pattern: `{ 'search*': '10/min' }`. Units: `s`, `min`,
   * `h` and `day`. The full number may be used in one burst.
   */
  readonly rate?: { readonly [pattern: string]: string };
}

/** A rate limit: calls per period. */
export interface Rate {
  readonly calls: number;
  readonly perMs: number;
}

/** Maximum pattern length. */
const maxPatternLength = 256;

const annotations: {
  readonly [pattern: string]: (hints: JsonObject) => boolean;
} = {
  '@readOnly': ({ readOnlyHint }) => readOnlyHint === true,
  '@destructive': ({ readOnlyHint, destructiveHint }) =>
    readOnlyHint !== true && destructiveHint !== false,
  '@idempotent': ({ readOnlyHint, idempotentHint }) =>
    readOnlyHint === true || idempotentHint === true,
  '@openWorld': ({ openWorldHint }) => openWorldHint !== false,
};

/** Accepted patterns, for messages. */
export const patternWords = `a name of at most ${maxPatternLength} characters, in which * stands for any text, or one of ${Object.keys(annotations).join(', ')}`;

/** True for a valid policy pattern. */
export const isPattern = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= maxPatternLength &&
  (!isAnnotation(value) || Object.hasOwn(annotations, value));

/** True for an annotation pattern. No tool has such a name. */
export const isAnnotation = (pattern: string): boolean => pattern.startsWith('@');

/** True if a tool matches a pattern. */
export function fitsTool(pattern: string, name: string, tool: JsonObject | undefined): boolean {
  if (!isAnnotation(pattern)) return fitsStars(pattern, name);
  const hints = tool?.['annotations'];
  return annotations[pattern]?.(isJsonObject(hints) ? hints : {}) === true;
}

/** Accepted rates, for messages. */
export const rateWords = 'a number of calls in a time, such as 5/s, 10/min, 100/h or 1000/day';

const units: { readonly [unit: string]: number } = {
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  day: 86_400_000,
};

/** Parses a rate; undefined if malformed. */
export function readRate(text: unknown): Rate | undefined {
  const [, calls, unit = ''] = /^([1-9]\d{0,8})\/(s|min|h|day)$/.exec(String(text)) ?? [];
  const perMs = units[unit];
  return perMs === undefined ? undefined : { calls: Number(calls), perMs };
}

/** True if a tool passes the filter. */
export function isAllowed(tool: string, { allow, deny = [] }: ToolFilter): boolean {
  const fits = (pattern: string): boolean => fitsStars(pattern, tool);
  return (allow === undefined || allow.some(fits)) && !deny.some(fits);
}

/**
 * Matches a name against a pattern with stars. The server chooses the name, so the cost is bounded:
 * each part between stars is searched once, from the end of the previous one.
 */
function fitsStars(pattern: string, name: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first) || name.length < first.length + last.length) return false;
  const middle = name.slice(first.length, name.length - last.length);
  let at = 0;
  for (const part of parts) {
    const found = middle.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.endsWith(last);
}
