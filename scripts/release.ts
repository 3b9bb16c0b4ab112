/**
 * Writes what a release needs into packages and documents: `npm run release`. A second run with the same arguments changes
 * nothing. docs/releasing.md says what comes before and after.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Edits } from './release/edits.ts';
import { faultsOfRelease } from './release/faults.ts';
import { writeRelease } from './release/write.ts';

const { values } = parseArgs({
  options: {
    repository: { type: 'string' },
    author: { type: 'string' },
    version: { type: 'string' },
  },
});

const edits = new Edits(fileURLToPath(new URL('..', import.meta.url)));
const written = await writeRelease(edits, values, new Date().toISOString().slice(0, 10));
console.log(written.length === 0 ? 'Nothing has changed' : `Written: ${written.join(', ')}`);
const faults = await faultsOfRelease(edits);
if (faults.length > 0) console.log(['Before a release:', ...faults].join('\n- '));
