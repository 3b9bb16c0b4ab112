/**
 * Prepares values for logs and views: redacts secrets, and limits depth, breadth, length and total size.
 */

import { farthestSight, isSecretKey, secretRanges } from './secrets.ts';

/** Placeholder of a secret. */
export const redacted = '[redacted]';

const maxDepth = 6;
const maxEntries = 50;
const maxString = 500;
const maxStack = 4000;
/** Maximum total number of copied values. */
const maxValues = 5000;

/**
 * Redacts secrets with a known form from a text, and cuts it to `limit` characters.
 *
 * @param place placeholder of a secret
 */
export function redactText(
  text: string,
  limit = maxString,
  place: (secret: string) => string = () => redacted,
): string {
  // Scan slightly past the limit, to recognise a secret that the cut would divide.
  const seen = text.slice(0, limit + farthestSight);
  let [clean, from] = ['', 0];
  for (const { start, end } of secretRanges(seen)) {
    if (start >= limit) break;
    clean += seen.slice(from, start) + place(seen.slice(start, end));
    from = end;
  }
  const to = Math.max(from, Math.min(limit, seen.length));
  clean += seen.slice(from, to);
  return to < text.length ? `${clean}… (${text.length - to} more)` : clean;
}

/**
 * Copies a value for `JSON.stringify`: secrets redacted at any depth, errors as objects with stack and cause, cycles, actors
 * and non-JSON values as text. Never throws.
 *
 * @param values maximum total number of copied values
 */
export function redact(value: unknown, values = maxValues): unknown {
  return copy(value, { above: [], budget: { left: values } });
}

/** Position of a value in the copy. */
interface CopyPosition {
  readonly above: readonly object[];
  /** Remaining number of values to copy. */
  readonly budget: { left: number };
}

function copy(value: unknown, place: CopyPosition): unknown {
  if (place.budget.left <= 0) return '… (too much to show)';
  place.budget.left -= 1;
  switch (typeof value) {
    case 'string':
      return redactText(value);
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'boolean':
    case 'undefined':
      return value;
    case 'object':
      return value === null ? null : copyObject(value, place);
    case 'function':
      return '[function]';
    default:
      return String(value);
  }
}

function copyObject(value: object, { above, budget }: CopyPosition): unknown {
  if (above.includes(value)) return '[circular]';
  if (above.length >= maxDepth) return Array.isArray(value) ? '[array]' : '[object]';
  const path = { above: [...above, value], budget };
  try {
    if (value instanceof Error) return copyError(value, path);
    if (value instanceof Date || value instanceof URL) return redactText(String(value));
    if (isActor(value)) return `[actor ${redactText(String(value.id))}]`;
    if (hasOwnJson(value)) return copy(value.toJSON(), path);
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (value instanceof Map || value instanceof Set) return copyList([...value], path);
    return Array.isArray(value) ? copyList(value, path) : copyEntries(Object.entries(value), path);
  } catch (error) {
    // A getter or proxy may throw; the line is logged nevertheless.
    return `[unreadable: ${redactText(String(error))}]`;
  }
}

/** An object with its own `toJSON`. */
function hasOwnJson(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

/** True for an actor, which references its whole system. */
function isActor(value: object): value is { readonly id: unknown } {
  return 'getSnapshot' in value && 'send' in value && 'id' in value;
}

function copyList(list: readonly unknown[], path: CopyPosition): unknown {
  const copied = list.slice(0, maxEntries).map((entry) => copy(entry, path));
  return list.length > maxEntries ? [...copied, `… (${list.length - maxEntries} more)`] : copied;
}

function copyEntries(entries: readonly (readonly [string, unknown])[], path: CopyPosition) {
  const copied = entries
    .slice(0, maxEntries)
    .map(([key, entry]) => [
      redactText(key),
      isSecretKey(key) && entry !== undefined ? redacted : copy(entry, path),
    ]);
  if (entries.length > maxEntries) copied.push(['…', `${entries.length - maxEntries} more`]);
  return Object.fromEntries(copied) as { readonly [key: string]: unknown };
}

function copyError(error: Error, path: CopyPosition): unknown {
  const { name, message, stack, cause } = error;
  const { code } = error as { readonly code?: unknown };
  return {
    name,
    message: redactText(message),
    ...(code === undefined ? {} : { code: copy(code, path) }),
    ...(stack === undefined ? {} : { stack: redactText(stack, maxStack) }),
    ...(cause === undefined ? {} : { cause: copy(cause, path) }),
  };
}
