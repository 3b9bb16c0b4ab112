/** How much of a line a search looks at, and how much of it is shown. */

/** Longer lines are not searched; they are named. */
export const maxLineBytes = 256 * 1024;

/** Longer lines are cut around the match. */
export const maxLineCharacters = 500;
