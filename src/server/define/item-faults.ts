/** What is wrong with an item of a server, said when it is defined. It may be written in JavaScript. */
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { closestMatch } from '../../protocol/suggestions.ts';

/** The members that an item of a kind must have. */
export interface ItemRules {
  /** `tool` */
  readonly kind: string;
  /** The member that tells items of this kind apart, a string. */
  readonly key: string;
  readonly strings?: readonly string[];
  readonly functions: readonly string[];
  /** Every member that it may have, so that a mistyped one can be told. */
  readonly members: Readonly<Record<string, true>>;
  /** What other libraries call a member, and its name here. */
  readonly synonyms: { readonly [name: string]: string };
  /** What belongs somewhere else, and where. */
  readonly elsewhere?: { readonly [name: string]: string };
  /** What defines items of this kind, and a member that it adds if the author left it out. */
  readonly defined?: { readonly by: string; readonly adds: string };
}

/** @throws {TypeError} it names the item, the member, what it is and what it must be */
export function checkItem(item: unknown, rules: ItemRules): void {
  const { kind, key, strings = [], functions, synonyms } = rules;
  if (!isJsonObject(item)) {
    const what = item === undefined ? 'undefined' : inspectValue(item);
    throw new TypeError(`A ${kind} is an object with ${key}; this is ${what}`);
  }
  const named =
    typeof item[key] === 'string' ? `the ${kind} ${inspectValue(item[key])}` : `a ${kind}`;
  for (const [theirs, ours] of Object.entries(synonyms)) {
    if (item[theirs] === undefined || item[ours] !== undefined) continue;
    throw new TypeError(`"${theirs}" of ${named} is called "${ours}" here`);
  }
  rejectMistyped(item, rules, named);
  const demand = (member: string, type: 'string' | 'function') => {
    if (typeof item[member] === type) return;
    throw new TypeError(
      `"${member}" of ${named} must be a ${type}, this is ${inspectValue(item[member])}`,
    );
  };
  for (const member of [key, ...strings]) demand(member, 'string');
  for (const member of functions) demand(member, 'function');
}

/**
 * Refuses what looks like a member that the item lacks. Other members are the author's own business,
 * and so are all those of a class.
 */
function rejectMistyped(
  item: JsonObject,
  { members, elsewhere = {} }: ItemRules,
  named: string,
): void {
  if (Object.getPrototypeOf(item) !== Object.prototype) return;
  const lacking = Object.keys(members).filter((member) => item[member] === undefined);
  for (const member of Object.keys(item)) {
    if (Object.hasOwn(members, member)) continue;
    if (Object.hasOwn(elsewhere, member)) {
      throw new TypeError(`"${member}" of ${named} ${elsewhere[member]}`);
    }
    const meant = closestMatch(member, lacking);
    if (meant === undefined) continue;
    throw new TypeError(`"${member}" is no member of ${named}; did you mean "${meant}"?`);
  }
}

/** @throws {TypeError} as {@link checkItem}, or it has not been defined */
export function checkDefined(item: unknown, rules: ItemRules): void {
  checkItem(item, rules);
  const { kind, key, defined } = rules;
  if (!defined || !isJsonObject(item) || item[defined.adds] !== undefined) return;
  throw new TypeError(`The ${kind} ${inspectValue(item[key])} is not defined: use ${defined.by}`);
}
