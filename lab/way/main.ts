/**
 * `npm run way`: traces six messages through `src` and the packages, with the length of each way. A
 * newcomer should be able to follow a message in five minutes, so each way has a ceiling, and
 * exceeding it fails.
 */
import { parseArgs } from 'node:util';
import { lengthOf, staysOf } from './trail.ts';
import type { Entry } from './trail.ts';
import { ways } from './ways.ts';

const { values } = parseArgs({ options: { figures: { type: 'boolean', default: false } } });

function print(trail: readonly Entry[]): void {
  for (const [index, stay] of staysOf(trail).entries()) {
    const steps = stay.map(({ name, line }) => `${name}:${line}`).join(' ');
    process.stdout.write(`${`${index + 1}`.padStart(4)}  ${stay[0].file}  ${steps}\n`);
  }
}

const table: string[] = [];
for (const { name, ceiling, travel } of ways) {
  const trail = await travel();
  const { files, stays } = lengthOf(trail);
  if (!values.figures) {
    process.stdout.write(`\n${name}\n\n`);
    print(trail);
  }
  const isLonger = files > ceiling.files || stays > ceiling.stays;
  if (isLonger) process.exitCode = 1;
  const verdict = isLonger ? `  LONGER than ${ceiling.files} / ${ceiling.stays}` : '';
  table.push(`${`${files} / ${stays}`.padStart(9)}  ${name}${verdict}`);
}
process.stdout.write(`${values.figures ? '' : '\n'}files / stays\n${table.join('\n')}\n`);
process.exit();
