/** A machine's chart as a picture that stands alone. */
import { chartDrawings } from './charts.ts';
import type { ChartName } from './diagram.ts';

/** Dark on nothing; light where the reader prefers dark. */
const style = `<style>
svg { color: #1f2328 }
.state path { stroke-width: 1.2 }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3 } }
</style>`;

/** An SVG document of a machine, line feed at the end. States have the class `s-` and their path: `s-querying_fresh`. */
export function svgDiagram(name: ChartName): string {
  return `${chartDrawings[name].replace(/^<svg [^>]*>/, (open) => `${open}\n${style}\n`)}\n`;
}
