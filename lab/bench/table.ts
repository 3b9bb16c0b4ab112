/**
 * Formats results as a Markdown table: each value with its ratio to the floor in parentheses, and
 * our own limit if there is one.
 */
import type { Cell, Results, Row } from './results.ts';
import { floorName, ourName } from './servers.ts';

export function tableOf({ rows }: Results): string {
  const names = rows[0]?.cells.map(({ server }) => server) ?? [];
  const bars = rows.some(({ atMost }) => atMost !== undefined) ? ['ours at most'] : [];
  const lines = [
    ['what', ...names, ...bars],
    ['---', ...names.map(() => '---:'), ...bars.map(() => '---:')],
    ...rows.map((row) => [
      titleOf(row),
      ...row.cells.map((cell) => textOf(cell, row)),
      ...bars.map(() => barOf(row)),
    ]),
  ];
  return aligned(lines);
}

/** Table of each peer's ratio to ours; values above 1 are our lead. Empty if not applicable. */
export function leadTableOf({ rows }: Results): string {
  const compared = rows.filter(({ isRatio }) => isRatio);
  if (compared.length === 0) return '';
  const names = peersOf(compared[0]);
  const lines = [
    ['peer / ours', ...names],
    ['---', ...names.map(() => '---:')],
    ...compared.map((row) => [
      row.title,
      ...names.map((name) => {
        const cell = row.cells.find(({ server }) => server === name);
        if (cell?.toOurs !== undefined) return numeral(cell.toOurs);
        return cell?.failure === undefined ? 'n/a' : 'fails';
      }),
    ]),
  ];
  return aligned(lines);
}

/** Describes failures of servers. */
export function failuresOf({ failures }: Results): string {
  if (failures.length === 0) return 'No server failed a measure.';
  return failures
    .map(({ server, measure, failure }) => `- ${server}, ${measure}: ${oneLine(failure)}`)
    .join('\n');
}

function peersOf(row: Row | undefined): readonly string[] {
  const names = row?.cells.map(({ server }) => server) ?? [];
  return names.filter((name) => name !== floorName && name !== ourName);
}

function titleOf({ title, unit }: Row): string {
  return ['exponent', 'lost', 'ratio', 'count'].includes(unit) ? title : `${title}, ${unit}`;
}

function barOf({ atMost, isRatio }: Row): string {
  if (atMost === undefined) return '';
  return isRatio ? `(${numeral(atMost)})` : numeral(atMost);
}

function textOf({ value, toFloor, failure }: Cell, { isRatio }: Row): string {
  if (value === undefined) return failure === undefined ? 'n/a' : 'fails';
  if (!isRatio || toFloor === undefined) return numeral(value);
  return `${numeral(value)} (${numeral(toFloor)})`;
}

/** Formats three significant digits without exponent. */
function numeral(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString('en-US');
  if (size >= 10) return value.toFixed(1);
  return value.toFixed(2);
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|');
}

function aligned(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const text = (cell: string, column: number) => {
    const width = widths[column] ?? 0;
    if (cell === '---') return '-'.repeat(width);
    if (cell === '---:') return `${'-'.repeat(Math.max(width - 1, 2))}:`;
    return column === 0 ? cell.padEnd(width) : cell.padStart(width);
  };
  return lines.map((line) => `| ${line.map(text).join(' | ')} |`).join('\n');
}
