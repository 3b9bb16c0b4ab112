/** Paths with line numbers, as compilers and searches print them: `src/x.ts:10-40`. */

/** A requested range of lines, from 1. */
export interface RequestedLines {
  readonly startLine?: number;
  /** Column in the first line, in UTF-16 units. */
  readonly startColumn?: number;
  /** Inclusive. */
  readonly endLine?: number;
}

const ending = /^(.+?):([1-9]\d{0,9})(?::([1-9]\d{0,9}))?(?:-([1-9]\d{0,9})?)?$/s;

/**
 * Parses `PATH:LINE` and `PATH:LINE:COLUMN`, each optionally followed by `-LINE` for the last line.
 * Without it, the range extends to the end of the file. Undefined for any other text.
 */
export function parsePathLines(
  given: string,
): { readonly path: string; readonly lines: RequestedLines } | undefined {
  const [, path, startLine, startColumn, endLine] = ending.exec(given) ?? [];
  if (path === undefined) return undefined;
  return {
    path,
    lines: {
      startLine: Number(startLine),
      ...(startColumn === undefined ? {} : { startColumn: Number(startColumn) }),
      ...(endLine === undefined ? {} : { endLine: Number(endLine) }),
    },
  };
}

/** Formats a path for {@link parsePathLines}. */
export function formatPathLines(
  path: string,
  { startLine = 1, startColumn = 1, endLine }: RequestedLines,
) {
  const column = startColumn === 1 ? '' : `:${startColumn}`;
  return `${path}:${startLine}${column}${endLine === undefined ? '' : `-${endLine}`}`;
}
