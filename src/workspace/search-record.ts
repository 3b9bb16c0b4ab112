/**
 * Reading ripgrep's `--json` records.
 *
 * @see https://docs.rs/grep-printer, "JSON output format"
 */
import { isJsonObject } from '../protocol/classify.ts';
import type { RipgrepRecord } from './ripgrep.ts';
import { cutText } from './text-cut.ts';

/** One line of a file: a match, or what stands around one. */
export interface SearchLine {
  /** Relative to the root. */
  readonly path: string;
  /** From 1. */
  readonly line: number;
  /** Without its line end. */
  readonly text: string;
  /** Where a match begins, in characters from 1; undefined for a context line. */
  readonly column: number | undefined;
  /** How much of the line is not shown, characters. */
  readonly omitted: number;
}

export type SearchReading =
  | { readonly kind: 'line'; readonly line: SearchLine }
  /** A match in a line too long to read. */
  | { readonly kind: 'overlong'; readonly path: string }
  /** A file's beginning or end, the summary. */
  | { readonly kind: 'other' };

/** Longer lines are cut around the match. */
export const maxLineCharacters = 500;

/** Reads one record. */
export function readSearchRecord({ bytes, cut }: RipgrepRecord): SearchReading {
  if (cut) return { kind: 'overlong', path: pathOfCut(bytes) };
  const record: unknown = JSON.parse(bytes.toString('utf8'));
  if (!isJsonObject(record) || !isJsonObject(record['data'])) return { kind: 'other' };
  const { type, data } = record;
  const { path, lines, line_number: line, submatches } = data as Record<string, unknown>;
  if ((type !== 'match' && type !== 'context') || typeof line !== 'number')
    return { kind: 'other' };
  const content = bytesOf(lines);
  const start = type === 'match' ? firstStart(submatches) : undefined;
  return {
    kind: 'line',
    line: { path: withoutDot(bytesOf(path).toString('utf8')), line, ...cutAround(content, start) },
  };
}

/** Text that is no UTF-8 comes as base64. */
function bytesOf(value: unknown): Buffer {
  if (!isJsonObject(value)) return Buffer.alloc(0);
  if (typeof value['text'] === 'string') return Buffer.from(value['text']);
  return typeof value['bytes'] === 'string'
    ? Buffer.from(value['bytes'], 'base64')
    : Buffer.alloc(0);
}

function firstStart(submatches: unknown): number {
  const first: unknown = Array.isArray(submatches) ? submatches[0] : undefined;
  return isJsonObject(first) && typeof first['start'] === 'number' ? first['start'] : 0;
}

function cutAround(content: Buffer, startByte: number | undefined) {
  const text = content.toString('utf8').replace(/\r?\n$/, '');
  const before =
    startByte === undefined ? 0 : content.subarray(0, startByte).toString('utf8').length;
  const column = startByte === undefined ? undefined : before + 1;
  if (text.length <= maxLineCharacters) return { text, column, omitted: 0 };
  const from = Math.max(
    0,
    Math.min(before - maxLineCharacters / 4, text.length - maxLineCharacters),
  );
  const to = from + maxLineCharacters;
  const kept = cutText(text, from, to);
  const shownText = `${from > 0 ? '…' : ''}${kept}${to < text.length ? '…' : ''}`;
  return { text: shownText, column, omitted: text.length - kept.length };
}

/** A path as ripgrep prints it, below the `./` that it was given. */
export function withoutDot(path: string): string {
  return path.replace(/^\.\//, '');
}

function pathOfCut(bytes: Buffer): string {
  const head = bytes.subarray(0, 16_384).toString('utf8');
  const text = /"path":\{"text":("(?:[^"\\]|\\.)*")/.exec(head)?.[1];
  return text === undefined ? 'a file' : withoutDot(JSON.parse(text) as string);
}
