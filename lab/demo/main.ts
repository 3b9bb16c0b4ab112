/** `npm run lab -- demo-picture`: runs the demo and renders it to docs/images/demo.svg. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { pictureOf, timedLines } from './picture.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const demo = spawn(process.execPath, ['--import', 'tsx', 'examples/demo/demo.ts'], {
  cwd: repository,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [lines, [code]] = await Promise.all([timedLines(demo.stdout), once(demo, 'close')]);
if (code !== 0) throw new Error(`The demo ended with ${String(code)}: the picture stays as it is`);
await writeFile(new URL('../../docs/images/demo.svg', import.meta.url), pictureOf(lines));
console.log('docs/images/demo.svg');
