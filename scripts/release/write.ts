/** Writes what a release needs into packages and documents. The same wishes a second time change nothing. */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { addressOf, writeAddress } from './address.ts';
import { Edits } from './edits.ts';
import { faultsOfRelease } from './faults.ts';
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

/** `npm run release -- write`. Afterwards it lists what is still missing. */
export async function step(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      repository: { type: 'string' },
      author: { type: 'string' },
      version: { type: 'string' },
    },
  });
  const edits = new Edits(fileURLToPath(new URL('../..', import.meta.url)));
  const written = await writeRelease(edits, values, new Date().toISOString().slice(0, 10));
  console.log(written.length === 0 ? 'Nothing has changed' : `Written: ${written.join(', ')}`);
  const faults = await faultsOfRelease(edits);
  if (faults.length > 0) console.log(['Before a release:', ...faults].join('\n- '));
}
