/** Writes what a release needs into packages and documents. The same wishes a second time change nothing. */
import { addressOf, writeAddress } from './address.ts';
import type { Edits } from './edits.ts';
import { writeShelf } from './shelf.ts';
import { writeVersion } from './version.ts';

export interface ReleaseWishes {
  /** https://github.com/OWNER/NAME */
  readonly repository?: string | undefined;
  /** As in `author` of a `package.json`. */
  readonly author?: string | undefined;
  /** As 1.2.3. */
  readonly version?: string | undefined;
}

/**
 * @param today as 2026-11-23
 * @returns the paths that it has written
 * @throws {TypeError} a wish cannot be met; then nothing is written
 */
export async function writeRelease(
  edits: Edits,
  { repository, author, version }: ReleaseWishes,
  today: string,
): Promise<readonly string[]> {
  if (author !== undefined && repository === undefined) {
    throw new TypeError('--author is written with --repository: give both');
  }
  if (version !== undefined) await writeVersion(edits, version, today);
  if (repository !== undefined) await writeAddress(edits, addressOf(repository), author);
  await writeShelf(edits);
  return edits.save();
}
