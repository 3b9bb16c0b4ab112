/** Which tools of a server are offered, which of them a person is asked about, and how often they may be called. */
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';

/** Which of a server's tools are in the merged list. `*` in a name stands for any text. */
export interface ToolFilter {
  /** All by default. */
  readonly allow?: readonly string[];
  /** Takes precedence over `allow`. */
  readonly deny?: readonly string[];
}

/**
 * What clients of a bridge may do with tools. A pattern is a name in which `*` stands for any text, or
 * an annotation: `@readOnly`, `@destructive`, `@idempotent`, `@openWorld`. Annotations are what the
 * server says of its tools; without them the protocol's defaults hold, so that a tool is destructive
 * until it says otherwise.
 */
export interface ToolPolicies {
  /** Only these tools are offered; all by default. */
  readonly allow?: readonly string[];
  /** These tools are not offered, even if they are allowed. */
  readonly deny?: readonly string[];
  /** A person is asked before each call of these tools, in a form that the host shows. */
  readonly ask?: readonly string[];
  /**
   * How often each principal may call each tool that fits the pattern: `{ 'search*': '10/min' }`. The
   * units are `s`, `min`, `h` and `day`. So many calls may come at once.
   */
  readonly rate?: { readonly [pattern: string]: string };
}

/** So many calls in a time. */
export interface Rate {
  readonly calls: number;
  readonly perMs: number;
}

/** A longer pattern is refused. */
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

/** What a pattern must be. */
export const patternWords = `a name of at most ${maxPatternLength} characters, in which * stands for any text, or one of ${Object.keys(annotations).join(', ')}`;

/** Whether this is a pattern of policies. */
export const isPattern = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= maxPatternLength &&
  (!isAnnotation(value) || Object.hasOwn(annotations, value));

/** Whether a pattern is about what a server says of its tool. No tool has such a name. */
export const isAnnotation = (pattern: string): boolean => pattern.startsWith('@');

/** Whether a tool fits a pattern. */
export function fitsTool(pattern: string, name: string, tool: JsonObject | undefined): boolean {
  if (!isAnnotation(pattern)) return fitsStars(pattern, name);
  const hints = tool?.['annotations'];
  return annotations[pattern]?.(isJsonObject(hints) ? hints : {}) === true;
}

/** What a rate must be. */
export const rateWords = 'a number of calls in a time, such as 5/s, 10/min, 100/h or 1000/day';

const units: { readonly [unit: string]: number } = {
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  day: 86_400_000,
};

/** Reads a rate; undefined if it is malformed. */
export function readRate(text: unknown): Rate | undefined {
  const [, calls, unit = ''] = /^([1-9]\d{0,8})\/(s|min|h|day)$/.exec(String(text)) ?? [];
  const perMs = units[unit];
  return perMs === undefined ? undefined : { calls: Number(calls), perMs };
}

/** Whether a tool is in the merged list. */
export function isAllowed(tool: string, { allow, deny = [] }: ToolFilter): boolean {
  const fits = (pattern: string): boolean => fitsStars(pattern, tool);
  return (allow === undefined || allow.some(fits)) && !deny.some(fits);
}

/**
 * Whether a name matches a pattern with stars. The server chooses the name, so the cost is bounded:
 * each part between stars is searched once, from the end of the last one.
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
