/** A machine's chart as a standalone SVG. */
import type { AnyStateMachine } from 'xstate';
import { machineDefinition } from './machine-definition.ts';
import { drawMachine, svgText } from './machine-drawing.ts';

/** Dark lines on a transparent background; light lines in dark mode. */
const style = `<style>
svg { color: #1f2328 }
.state text { font-weight: 700 }
.transition path, .transition polygon { color: #818b98 }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3 } }
</style>`;

/**
 * Returns a machine as an SVG document ending in a newline. The class of a state is its path, such
 * as `s-querying_fresh`.
 */
export function svgDiagram(machine: AnyStateMachine): string {
  const svg = svgText(drawMachine(machineDefinition(machine)));
  return `${svg.replace(/^<svg [^>]*>/, (open) => `${open}\n${style}\n`)}\n`;
}
