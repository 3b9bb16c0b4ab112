/** Writes the statecharts into docs/architecture.md, drawn from the machines: `npm run charts`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { withCharts } from './with-charts.ts';

const page = new URL('../docs/architecture.md', import.meta.url);
writeFileSync(page, withCharts(readFileSync(page, 'utf8')));
