/** `npm run --silent release -- notes`: prints what the changelog says of the version of the packages. */
import { fileURLToPath } from 'node:url';
import { notesOf } from './changelog.ts';
import { Edits } from './edits.ts';
import { factsOf } from './facts.ts';

/** @throws {Error} the changelog has no such release */
export function step(): void {
  const edits = new Edits(fileURLToPath(new URL('../..', import.meta.url)));
  const { version } = factsOf(edits);
  const notes = notesOf(edits.read('CHANGELOG.md'), version);
  if (notes === undefined) throw new Error(`CHANGELOG.md has no release ${version}`);
  console.log(notes);
}
