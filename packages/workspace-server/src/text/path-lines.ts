/** A path that says which lines are meant, as compilers and searches write it: `src/x.ts:10-40`. */

/** Which lines of a file are meant, from 1. */
export interface AskedLines {
  readonly startLine?: number;
  /** In the first line, characters (UTF-16 units). */
  readonly startColumn?: number;
  /** Inclusive. */
  readonly endLine?: number;
}

const ending = /^(.+?):([1-9]\d{0,9})(?::([1-9]\d{0,9}))?(?:-([1-9]\d{0,9})?)?$/s;

/**
 * Reads `PATH:LINE`, `PATH:LINE:COLUMN`, each with `-LINE` behind it for the last line. Without the
 * latter the file is meant from there on. Undefined for any other text.
 */
export function readPathLines(
  given: string,
): { readonly path: string; readonly lines: AskedLines } | undefined {
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

/** Writes what {@link readPathLines} reads. */
export function pathLines(path: string, { startLine = 1, startColumn = 1, endLine }: AskedLines) {
  const column = startColumn === 1 ? '' : `:${startColumn}`;
  return `${path}:${startLine}${column}${endLine === undefined ? '' : `-${endLine}`}`;
}
