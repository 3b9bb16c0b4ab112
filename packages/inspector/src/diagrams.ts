/** The names of `@mcp-actors/inspector/diagrams`: any machine as a picture, as Mermaid text, as a config that other tools read. */
export { svgDiagram } from './charts/chart-svg.ts';
export { mermaidDiagram } from './charts/diagram.ts';
export type { DrawnMachine } from './charts/diagram.ts';
export { machineDefinition } from './charts/machine-definition.ts';
