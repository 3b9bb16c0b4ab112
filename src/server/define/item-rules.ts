/** Runtime validation of definitions, for authors without TypeScript. */
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { closestMatch } from '../../protocol/suggestions.ts';

/** Validation rules of one kind of item. */
export interface ItemRules {
  /** Noun for messages, such as `tool`. */
  readonly kind: string;
  /** Unique string member: the name or the URI. */
  readonly key: string;
  /** Other required string members. */
  readonly strings?: readonly string[];
  /** Required function members. */
  readonly functions: readonly string[];
  /** All known members, to detect misspelled ones. */
  readonly members: Readonly<Record<string, true>>;
  /** Member names of other libraries, and their names here. */
  readonly synonyms: { readonly [name: string]: string };
  /** Members that belong elsewhere, with a hint where. */
  readonly misplaced?: { readonly [name: string]: string };
  /** Function that defines items of this kind, and a member that it always adds. */
  readonly definedBy?: { readonly by: string; readonly adds: string };
}

/** @throws {TypeError} naming the item, the member, the expected type and the actual value */
export function checkItem(item: unknown, rules: ItemRules): void {
  const { kind, key, strings = [], functions, synonyms } = rules;
  if (!isJsonObject(item)) {
    const what = item === undefined ? 'undefined' : inspectValue(item);
    throw new TypeError(`A ${kind} must be an object with "${key}", got ${what}`);
  }
  const named =
    typeof item[key] === 'string' ? `the ${kind} ${inspectValue(item[key])}` : `a ${kind}`;
  for (const [theirs, ours] of Object.entries(synonyms)) {
    if (item[theirs] === undefined || item[ours] !== undefined) continue;
    throw new TypeError(`"${theirs}" of ${named} is unknown: use "${ours}"`);
  }
  rejectMistyped(item, rules, named);
  const demand = (member: string, type: 'string' | 'function') => {
    if (typeof item[member] === type) return;
    throw new TypeError(
      `"${member}" of ${named} must be a ${type}, got ${inspectValue(item[member])}`,
    );
  };
  for (const member of [key, ...strings]) demand(member, 'string');
  for (const member of functions) demand(member, 'function');
}

/**
 * Rejects unknown members that resemble a missing known one. Other unknown members are allowed, and
 * class instances are not checked.
 */
function rejectMistyped(
  item: JsonObject,
  { members, misplaced = {} }: ItemRules,
  named: string,
): void {
  if (Object.getPrototypeOf(item) !== Object.prototype) return;
  const lacking = Object.keys(members).filter((member) => item[member] === undefined);
  for (const member of Object.keys(item)) {
    if (Object.hasOwn(members, member)) continue;
    if (Object.hasOwn(misplaced, member)) {
      throw new TypeError(`"${member}" of ${named} ${misplaced[member]}`);
    }
    const meant = closestMatch(member, lacking);
    if (meant === undefined) continue;
    throw new TypeError(`"${member}" of ${named} is unknown: did you mean "${meant}"?`);
  }
}

/** @throws {TypeError} like {@link checkItem}, or if the item did not come from its `define…` function */
export function checkDefined(item: unknown, rules: ItemRules): void {
  checkItem(item, rules);
  const { kind, key, definedBy } = rules;
  if (!definedBy || !isJsonObject(item) || item[definedBy.adds] !== undefined) return;
  throw new TypeError(
    `The ${kind} ${inspectValue(item[key])} must be created with ${definedBy.by}`,
  );
}
