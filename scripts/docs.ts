/** Writes what the docs take from the code: `npm run docs`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { chartsModule, drawnCharts } from './draw-charts.ts';

writeFileSync(chartsModule, await drawnCharts());

// Loaded only now: they show the charts, too.
const { chartFiles, generatedPages, withGenerated } = await import('./generated-docs.ts');

for (const page of generatedPages) {
  writeFileSync(page, withGenerated(readFileSync(page, 'utf8')));
}

for (const { file, text } of await chartFiles()) {
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, text);
}
