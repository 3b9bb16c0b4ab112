/**
 * Whether this is the long run, `npm run lab -- long`, a part of .ci/nightly. What could go on for hours does there what a few minutes
 * buy, and in `npm test` what a second or two do.
 */
export const isLong = process.env['LONG'] === '1';

/** The one for the long run, or the one for every run. */
export const inLongRun = <T>(long: T, usual: T): T => (isLong ? long : usual);
