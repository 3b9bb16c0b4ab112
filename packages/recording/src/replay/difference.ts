/** Differences between a replay and its recording, as text for people. */
import { printableLines } from '../../../../src/protocol/printable.ts';
import { kindOf } from '../format.ts';
import type { NumberedLine, Recording } from '../recording.ts';

/** The first difference between a recording and its replay. */
export interface Difference {
  /** Description, as a sentence. */
  readonly problem: string;
  /**
   * The differing line of the recording; the last one if the replay produced extra output.
   */
  readonly number: number;
  /** Recorded value; absent if there is none. */
  readonly recorded?: object;
  /** Replayed value; absent if there is none. */
  readonly replayed?: object;
}

/** Number of context lines before the difference. */
const contextLines = 4;
const maxWidth = 500;

/**
 * Formats a difference: preceding lines, recorded and replayed value. Control characters are escaped for terminals.
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

/** Formats a line for people; long lines are cut. */
export function lineText({ line }: NumberedLine): string {
  return cut(JSON.stringify(line));
}

/** The compared part of a line: all but its time. */
export function withoutTime(line: object): object {
  return Object.fromEntries(Object.entries(line).filter(([key]) => key !== 'at'));
}

function cut(text: string): string {
  return text.length > maxWidth
    ? `${text.slice(0, maxWidth)}… (${text.length - maxWidth} more)`
    : text;
}

/** Two values at the same path. */
interface Pair {
  readonly one: unknown;
  readonly other: unknown;
  /** Parent path; undefined for the root. */
  readonly place: Place | undefined;
}

interface Place {
  readonly above: Place | undefined;
  /** Path segment: `.name`, `[0]`. */
  readonly step: string;
}

/** True if both are the same JSON, ignoring the order of members. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return firstPair(one, other, allNames) === undefined;
}

/** True if `found` contains everything in `expected`; arrays are compared item by item. */
export function includesJson(found: unknown, expected: unknown): boolean {
  return firstPair(expected, found, Object.keys) === undefined;
}

/**
 * Finds the first path at which two values differ. Iterative, because a result may nest too deep for recursion.
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

/** Own members; undefined ones count as missing, because JSON has no `undefined`. */
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
