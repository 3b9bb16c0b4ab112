/** Writes what the docs take from the code: `npm run docs`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { chartsModule, drawnCharts } from './draw-charts.ts';
import { generatedPages, withGenerated } from './generated-docs.ts';

for (const page of generatedPages) {
  writeFileSync(page, withGenerated(readFileSync(page, 'utf8')));
}

writeFileSync(chartsModule, await drawnCharts());
