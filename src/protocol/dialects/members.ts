/** Helpers for building wire objects. */

/** A mutable wire object: later revisions add members to an earlier one's. */
export type WireObject = { [member: string]: unknown };

/** Copies only these members, if defined. */
export function pick<T extends object, K extends keyof T>(
  value: T,
  ...names: readonly K[]
): Partial<Pick<T, K>> {
  const chosen: Partial<Pick<T, K>> = {};
  for (const name of names) if (value[name] !== undefined) chosen[name] = value[name];
  return chosen;
}

/** Copies all members but these. */
export function omit<T extends object>(value: T, ...names: readonly string[]): T {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name))) as T;
}
