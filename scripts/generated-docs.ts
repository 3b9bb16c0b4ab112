/** The parts of the docs that are made from the code. They stand between `<!-- generated: name -->` and `<!-- end -->`. */
import { optionsTable } from '../src/cli/help.ts';
import { mermaidDiagram } from '../src/inspect/diagram.ts';
import { rootsMachine } from '../src/machines/roots.machine.ts';
import { sessionMachine } from '../src/machines/session.machine.ts';

const parts: { readonly [name: string]: () => string } = {
  'session chart': () => `\`\`\`mermaid\n${mermaidDiagram(sessionMachine)}\`\`\``,
  'roots chart': () => `\`\`\`mermaid\n${mermaidDiagram(rootsMachine)}\`\`\``,
  options: () => optionsTable().trim(),
};

export const generatedPages: readonly URL[] = ['architecture', 'limits'].map(
  (name) => new URL(`../docs/${name}.md`, import.meta.url),
);

/** A page with its generated parts as the code makes them today. */
export function withGenerated(page: string): string {
  return page.replace(
    /<!-- generated: (.*?) -->[^]*?<!-- end -->/g,
    (_, name: string) => `<!-- generated: ${name} -->\n\n${parts[name]?.()}\n\n<!-- end -->`,
  );
}
