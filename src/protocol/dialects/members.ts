/** Members of objects for the wire. */

/** An object for the wire, while it is built: later revisions add members to an earlier one's. */
export type WireObject = { [member: string]: unknown };

/** A copy with only these members, if defined. */
export function pick<T extends object, K extends keyof T>(
  value: T,
  ...names: readonly K[]
): Partial<Pick<T, K>> {
  const chosen: Partial<Pick<T, K>> = {};
  for (const name of names) if (value[name] !== undefined) chosen[name] = value[name];
  return chosen;
}

/** A copy without these members. */
export function omit<T extends object>(value: T, ...names: readonly string[]): T {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name))) as T;
}
