/** What a replay does differently from its recording, as text for a person. */
import { printableLines } from '../../../../src/protocol/printable.ts';
import { kindOf } from '../format.ts';
import type { NumberedLine, Recording } from '../recording.ts';

/** The first difference between a recording and its replay. */
export interface Difference {
  /** What is wrong, as a sentence. */
  readonly problem: string;
  /**
   * The line of the recording that differs; the last one if the replay did more than was recorded.
   */
  readonly number: number;
  /** What the recording has; absent if it has nothing there. */
  readonly recorded?: object;
  /** What the replay did instead; absent if it did nothing. */
  readonly replayed?: object;
}

/** How many lines before the difference are shown. */
const contextLines = 4;
const maxWidth = 500;

/**
 * A difference as text: the lines before it, what was recorded, and what was replayed. Its control
 * characters are escaped, so a terminal can show it.
 */
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
    `- ${isShown ? String(number).padStart(width) : margin}  ${recorded ? cut(JSON.stringify(withoutTime(recorded))) : '(nothing)'}`,
    `+ ${margin}  ${replayed ? cut(JSON.stringify(withoutTime(replayed))) : '(nothing)'}`,
    ...(place ? ['', `  ${place}`] : []),
    '',
  ]);
}

/** A line as it is shown to a person, cut if it is long. */
export function lineText({ line }: NumberedLine): string {
  return cut(JSON.stringify(line));
}

/** What of a line is compared: all but its time. */
export function withoutTime(line: object): object {
  return Object.fromEntries(Object.entries(line).filter(([key]) => key !== 'at'));
}

function cut(text: string): string {
  return text.length > maxWidth
    ? `${text.slice(0, maxWidth)}… (${text.length - maxWidth} more)`
    : text;
}

/** Two values at the same place. */
interface Pair {
  readonly one: unknown;
  readonly other: unknown;
  /** Which member of the whole it is; undefined for the whole itself. */
  readonly place: Place | undefined;
}

interface Place {
  readonly above: Place | undefined;
  /** As it is written after the place above: `.name`, `[0]`. */
  readonly step: string;
}

/** Whether both are the same JSON, whatever the order of their members. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return firstPair(one, other, allNames) === undefined;
}

/** Whether `found` has everything that `expected` has; arrays item by item. */
export function includesJson(found: unknown, expected: unknown): boolean {
  return firstPair(expected, found, Object.keys) === undefined;
}

/**
 * The first place at which two values differ. It keeps its own list of what is left, because a
 * result may nest too deep for recursion.
 */
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

/** JSON has no `undefined`, so an undefined member counts as missing. */
function memberOf(value: object, name: string): unknown {
  return Object.hasOwn(value, name)
    ? (value as { readonly [name: string]: unknown })[name]
    : undefined;
}

function firstDifference(recorded: object, replayed: object): string | undefined {
  const pair = firstPair(withoutTime(recorded), withoutTime(replayed), allNames);
  if (!pair) return undefined;
  const steps: string[] = [];
  for (let { place } = pair; place; place = place.above) steps.push(place.step);
  const path = steps.toReversed().join('').replace(/^\./, '') || 'it';
  return `${cut(path)}: ${valueText(pair.one)} was recorded, ${valueText(pair.other)} is replayed`;
}

function valueText(value: unknown): string {
  return value === undefined ? 'nothing' : cut(JSON.stringify(value)).slice(0, 200);
}
