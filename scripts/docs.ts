/** Writes what the docs take from the code: `npm run docs`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { chartFiles, generatedPages, withGenerated } from './generated-docs.ts';

for (const page of generatedPages) {
  writeFileSync(page, withGenerated(page));
}

for (const { file, text } of chartFiles()) {
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, text);
}
