/** A machine's chart as a standalone picture. */
import { chartDrawings } from './charts.ts';
import type { AnyStateMachine } from 'xstate';
import type { ChartName } from './diagram.ts';
import { machineDefinition } from './machine-definition.ts';
import { drawMachine, svgText } from './machine-drawing.ts';

/** Dark lines on no background; light lines if the reader prefers dark. */
const style = `<style>
svg { color: #1f2328 }
.state path { stroke-width: 1.2 }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3 } }
</style>`;

/**
 * A machine as an SVG document, with a line feed at the end. The class of a state is its path, such
 * as `s-querying_fresh`.
 */
export function svgDiagram(name: ChartName): string {
  return styled(chartDrawings[name]);
}

/** The same of any machine. */
export function svgOfMachine(machine: AnyStateMachine): string {
  return styled(svgText(drawMachine(machineDefinition(machine))));
}

function styled(svg: string): string {
  return `${svg.replace(/^<svg [^>]*>/, (open) => `${open}\n${style}\n`)}\n`;
}
