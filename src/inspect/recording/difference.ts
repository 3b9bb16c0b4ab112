/** Where a replay is not what was recorded, told to a person. */
import { kindOf } from './format.ts';
import type { NumberedLine, Recording } from './recording.ts';

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

/** A difference with the lines before it, what was recorded and what was replayed. */
export function differenceText(difference: Difference, recording: Recording): string {
  const { problem, number, recorded, replayed } = difference;
  const last = recording.lines.findLastIndex((each) => each.number <= number);
  const isShown = recorded !== undefined;
  const context = recording.lines.slice(Math.max(0, last - contextLines), last + (isShown ? 0 : 1));
  const width = String(number).length;
  const margin = ' '.repeat(width);
  const isSameKind = recorded && replayed && kindOf(recorded) === kindOf(replayed);
  const place = isSameKind ? firstDifference(recorded, replayed) : undefined;
  return [
    `${recording.name}:${number}: ${problem}`,
    '',
    ...context.map((each) => `  ${String(each.number).padStart(width)}  ${lineText(each)}`),
    `- ${isShown ? String(number).padStart(width) : margin}  ${recorded ? cut(JSON.stringify(plain(recorded))) : '(nothing)'}`,
    `+ ${margin}  ${replayed ? cut(JSON.stringify(plain(replayed))) : '(nothing)'}`,
    ...(place ? ['', `  ${place}`] : []),
    '',
  ].join('\n');
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

/** True where both are the same JSON, whatever the order of their members. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [ones, others] = [entriesOf(one), entriesOf(other)];
  if (ones.length !== others.length) return false;
  const members = new Map(others);
  return ones.every(([key, value]) => members.has(key) && isSameJson(value, members.get(key)));
}

/** True where `found` has all that `expected` has; arrays member by member. */
export function includesJson(found: unknown, expected: unknown): boolean {
  if (typeof expected !== 'object' || expected === null) return found === expected;
  if (typeof found !== 'object' || found === null) return false;
  if (Array.isArray(expected) !== Array.isArray(found)) return false;
  if (Array.isArray(expected) && expected.length !== (found as unknown[]).length) return false;
  const members = new Map(entriesOf(found));
  return entriesOf(expected).every(
    ([key, value]) => members.has(key) && includesJson(members.get(key), value),
  );
}

/** Members that are there; JSON has no `undefined`. */
function entriesOf(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, member]) => member !== undefined);
}

function firstDifference(recorded: object, replayed: object): string | undefined {
  const walk = (one: unknown, other: unknown, path: string): string | undefined => {
    if (isSameJson(one, other)) return undefined;
    const isInner =
      typeof one === 'object' && typeof other === 'object' && one !== null && other !== null;
    if (!isInner || Array.isArray(one) !== Array.isArray(other)) {
      return `${path || 'it'}: ${valueText(one)} was recorded, ${valueText(other)} is replayed`;
    }
    const [ones, others] = [new Map(entriesOf(one)), new Map(entriesOf(other))];
    for (const key of new Set([...ones.keys(), ...others.keys()])) {
      if (key === 'at' && path === '') continue;
      const inner = Array.isArray(one) ? `${path}[${key}]` : `${path}${path && '.'}${key}`;
      const found = walk(ones.get(key), others.get(key), inner);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return walk(recorded, replayed, '');
}

function valueText(value: unknown): string {
  return value === undefined ? 'nothing' : cut(JSON.stringify(value)).slice(0, 200);
}
