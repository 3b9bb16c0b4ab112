/**
 * Public entry `@mcp-actors/inspector/diagrams`: any machine as SVG, Mermaid text or a JSON config.
 */
export { svgDiagram } from './charts/chart-svg.ts';
export { mermaidDiagram } from './charts/diagram.ts';
export type { DrawnMachine } from './charts/diagram.ts';
export { machineDefinition } from './charts/machine-definition.ts';
