/**
 * Finds values that do not survive a round trip through JSON. Sealing or storing them would change
 * them silently.
 */

/** A member that JSON would change or drop. */
export interface NonSerializable {
  /** Path such as `when` or `guests[2].name`; empty for the value itself. */
  readonly path: string;
  /** Description, such as `a Date`. */
  readonly what: string;
}

/** The first member, in key order, that JSON would change or drop; undefined if there is none. */
export function findNonSerializable(
  value: unknown,
  path = '',
  around: readonly object[] = [],
): NonSerializable | undefined {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return undefined;
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : { path, what: String(value) };
  }
  if (typeof value !== 'object') return { path, what: nameOf(value) };
  if (around.includes(value)) return { path, what: 'a circular reference' };
  const inside = [...around, value];
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const place = `${path}[${at}]`;
      if (!(at in value)) return { path: place, what: 'a hole' };
      const found = findNonSerializable(value[at], place, inside);
      if (found) return found;
    }
    return undefined;
  }
  if (!isPlain(value)) return { path, what: `a ${classOf(value)}` };
  const [symbol] = Object.getOwnPropertySymbols(value);
  if (symbol) return { path: `${path}[${String(symbol)}]`, what: 'a member under a symbol' };
  for (const [key, member] of Object.entries(value)) {
    const found = findNonSerializable(member, pathTo(path, key), inside);
    if (found) return found;
  }
  return undefined;
}

function nameOf(value: unknown): string {
  if (value === undefined) return 'undefined';
  return typeof value === 'bigint' ? 'a BigInt' : `a ${typeof value}`;
}

/** True for an object literal of any realm, or an object without a prototype. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function classOf(value: object): string {
  const { constructor } = value as { readonly constructor?: { readonly name?: unknown } };
  const name = typeof constructor === 'function' ? constructor.name : '';
  return typeof name === 'string' && name !== '' && name !== 'Object' ? name : 'class instance';
}

function pathTo(path: string, key: string): string {
  if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}
