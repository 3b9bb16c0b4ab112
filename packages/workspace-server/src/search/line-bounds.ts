/** Limits on line length for searching and showing lines. */

/** Longer lines are reported instead of searched. */
export const maxLineBytes = 256 * 1024;

/** Longer lines are truncated around the match. */
export const maxLineCharacters = 500;
