/**
 * Parser for ripgrep's `--json` records.
 *
 * @see https://docs.rs/grep-printer, "JSON output format"
 */
import { isJsonObject } from 'mcp-actors/internal';
import type { RipgrepRecord } from './ripgrep-output.ts';
import { maxLineCharacters } from './line-bounds.ts';
import { cutText } from '../text/line-range.ts';

/** A matching line or a context line. */
export interface SearchLine {
  /** From 1. */
  readonly line: number;
  /** Without the line ending. */
  readonly text: string;
  /** Start of the match in characters, from 1; undefined for a context line. */
  readonly column: number | undefined;
  /** Number of characters not shown. */
  readonly omitted: number;
}

const submatchesKey = '"submatches":[';
const startKey = '"start":';

/** Parses a record; undefined for records other than lines. */
export function readSearchRecord({ bytes }: RipgrepRecord): SearchLine | undefined {
  // Quotes in text are escaped, so this can only be the key. Only the first match is parsed,
  // because a line may have a hundred thousand.
  const submatches = bytes.indexOf(submatchesKey);
  if (submatches === -1) return undefined;
  const record: unknown = JSON.parse(`${bytes.toString('utf8', 0, submatches)}${submatchesKey}]}}`);
  if (!isJsonObject(record) || !isJsonObject(record['data'])) return undefined;
  const { lines, line_number: line } = record['data'];
  if (typeof line !== 'number') return undefined;
  const start = record['type'] === 'match' ? firstStart(bytes, submatches) : undefined;
  return { line, ...cutAround(bytesOf(lines), start) };
}

/** Text that is not UTF-8 is base64. */
function bytesOf(value: unknown): Buffer {
  if (!isJsonObject(value)) return Buffer.alloc(0);
  if (typeof value['text'] === 'string') return Buffer.from(value['text']);
  return typeof value['bytes'] === 'string'
    ? Buffer.from(value['bytes'], 'base64')
    : Buffer.alloc(0);
}

function firstStart(bytes: Buffer, submatches: number): number {
  const at = bytes.indexOf(startKey, submatches);
  if (at === -1) return 0;
  const digits = bytes.toString('latin1', at + startKey.length, at + startKey.length + 16);
  return Number.parseInt(digits, 10);
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
