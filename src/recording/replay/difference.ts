/** Where a replay is not what was recorded, told to a person. */
import { printableLines } from '../../protocol/printable.ts';
import { kindOf } from '../format.ts';
import type { NumberedLine, Recording } from '../recording.ts';

/** The first difference between a recording and its replay. */
export interface Difference {
  /** What is wrong, in a sentence. */
  readonly problem: string;
  /** The line of the recording that it is about; the last one, where the replay did more than was recorded. */
  readonly number: number;
  /** What the recording has; absent where it has nothing. */
  readonly recorded?: object;
  /** What the replay did instead; absent where it did nothing. */
  readonly replayed?: object;
}

/** Lines before the difference that are shown. */
const contextLines = 4;
const maxWidth = 500;

/** A difference with the lines before it, what was recorded and what was replayed. Nothing in it is obeyed by a terminal. */
export function differenceText(difference: Difference, recording: Recording): string {
  const { problem, number, recorded, replayed } = difference;
  const last = recording.lines.findLastIndex((each) => each.number <= number);
  const isShown = recorded !== undefined;
  const context = recording.lines.slice(Math.max(0, last - contextLines), last + (isShown ? 0 : 1));
  const width = String(number).length;
  const margin = ' '.repeat(width);
  const isSameKind = recorded && replayed && kindOf(recorded) === kindOf(replayed);
  const place = isSameKind ? firstDifference(recorded, replayed) : undefined;
  return printableLines([
    `${recording.name}:${number}: ${problem}`,
    '',
    ...context.map((each) => `  ${String(each.number).padStart(width)}  ${lineText(each)}`),
    `- ${isShown ? String(number).padStart(width) : margin}  ${recorded ? cut(JSON.stringify(plain(recorded))) : '(nothing)'}`,
    `+ ${margin}  ${replayed ? cut(JSON.stringify(plain(replayed))) : '(nothing)'}`,
    ...(place ? ['', `  ${place}`] : []),
    '',
  ]);
}

/** A line as it is shown to a person: what came to the session with an arrow to the left. */
export function lineText({ line }: NumberedLine): string {
  return cut(JSON.stringify(line));
}

function plain(line: object): object {
  return Object.fromEntries(Object.entries(line).filter(([key]) => key !== 'at'));
}

function cut(text: string): string {
  return text.length > maxWidth
    ? `${text.slice(0, maxWidth)}… (${text.length - maxWidth} more)`
    : text;
}

/** Two values that stand at the same place. */
interface Pair {
  readonly one: unknown;
  readonly other: unknown;
  /** Where the members of an object stand; undefined for the whole. */
  readonly place: Place | undefined;
}

interface Place {
  readonly above: Place | undefined;
  /** As it is written after what is above: `.name`, `[0]`. */
  readonly step: string;
}

/** True where both are the same JSON, whatever the order of their members. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return firstPair(one, other, allNames) === undefined;
}

/** True where `found` has all that `expected` has; arrays member by member. */
export function includesJson(found: unknown, expected: unknown): boolean {
  return firstPair(expected, found, Object.keys) === undefined;
}

/** The first place at which two values differ. It keeps a list of what is left: a result may nest deeper than the stack is. */
function firstPair(
  one: unknown,
  other: unknown,
  namesOf: (one: object, other: object) => readonly string[],
): Pair | undefined {
  const left: Pair[] = [{ one, other, place: undefined }];
  for (let pair = left.pop(); pair; pair = left.pop()) {
    const { one, other, place } = pair;
    if (one === other) continue;
    if (!isObject(one) || !isObject(other)) return pair;
    const isArray = Array.isArray(one);
    if (isArray !== Array.isArray(other)) return pair;
    const names = isArray ? allNames(one, other) : namesOf(one, other);
    for (const name of names.toReversed()) {
      const step = isArray ? `[${name}]` : `.${name}`;
      left.push({
        one: memberOf(one, name),
        other: memberOf(other, name),
        place: { above: place, step },
      });
    }
  }
  return undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function allNames(one: object, other: object): readonly string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])];
}

/** JSON has no `undefined`: a member that is undefined is none. */
function memberOf(value: object, name: string): unknown {
  return Object.hasOwn(value, name)
    ? (value as { readonly [name: string]: unknown })[name]
    : undefined;
}

function firstDifference(recorded: object, replayed: object): string | undefined {
  const pair = firstPair(plain(recorded), plain(replayed), allNames);
  if (!pair) return undefined;
  const steps: string[] = [];
  for (let { place } = pair; place; place = place.above) steps.push(place.step);
  const path = steps.toReversed().join('').replace(/^\./, '') || 'it';
  return `${cut(path)}: ${valueText(pair.one)} was recorded, ${valueText(pair.other)} is replayed`;
}

function valueText(value: unknown): string {
  return value === undefined ? 'nothing' : cut(JSON.stringify(value)).slice(0, 200);
}
