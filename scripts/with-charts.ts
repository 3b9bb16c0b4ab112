/** A page with the charts between its `<!-- chart: name -->` and `<!-- end -->` marks replaced by the current ones. */
import { mermaidDiagram } from '../src/inspect/diagram.ts';
import { rootsMachine } from '../src/machines/roots.machine.ts';
import { sessionMachine } from '../src/machines/session.machine.ts';

const machines = { session: sessionMachine, roots: rootsMachine };

export function withCharts(page: string): string {
  let result = page;
  for (const [name, machine] of Object.entries(machines)) {
    const chart = `<!-- chart: ${name} -->\n\`\`\`mermaid\n${mermaidDiagram(machine)}\`\`\`\n<!-- end -->`;
    result = result.replace(new RegExp(`<!-- chart: ${name} -->[^]*?<!-- end -->`), () => chart);
  }
  return result;
}
