/** The members of what goes to the wire. */

/** What goes to the wire, while it is made: later revisions add to what an earlier one has begun. */
export type Wire = { [member: string]: unknown };

/** Those of these members that are there. */
export function only<T extends object, K extends keyof T>(
  value: T,
  ...names: readonly K[]
): Partial<Pick<T, K>> {
  const chosen: Partial<Pick<T, K>> = {};
  for (const name of names) if (value[name] !== undefined) chosen[name] = value[name];
  return chosen;
}

/** A copy without these members. */
export function without<T extends object>(value: T, ...names: readonly string[]): T {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name))) as T;
}
