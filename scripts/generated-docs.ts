/** The parts of the docs that are made from the code. They stand between `<!-- generated: name -->` and `<!-- end -->`. */
import { readFileSync } from 'node:fs';
import { optionsTable } from '../src/cli/help.ts';
import { charts, mermaidDiagram } from '../src/inspect/diagram.ts';

const parts: { readonly [name: string]: () => string } = {
  ...Object.fromEntries(
    Object.entries(charts).map(([name, machine]) => [
      `${name} chart`,
      () => `\`\`\`mermaid\n${mermaidDiagram(machine)}\`\`\``,
    ]),
  ),
  options: () => optionsTable().trim(),
};

export const generatedPages: readonly URL[] = [
  'README.md',
  'docs/architecture.md',
  'docs/limits.md',
  'docs/server.md',
  'docs/tasks.md',
  'docs/embedding.md',
  'docs/examples.md',
  'docs/middleware.md',
  'docs/opentelemetry.md',
  'docs/schemas.md',
  'docs/testing.md',
  'docs/transports.md',
].map((path) => new URL(`../${path}`, import.meta.url));

/** A page with its generated parts as the code makes them today. */
export function withGenerated(page: string): string {
  return page.replace(
    /<!-- generated: (.*?) -->[^]*?<!-- end -->/g,
    (_, name: string) =>
      `<!-- generated: ${name} -->\n\n${parts[name]?.() ?? exampleOf(name)}\n\n<!-- end -->`,
  );
}

/** `examples/a.ts`: the file; `examples/a.ts#name`: what stands in it between `// #region name` and `// #endregion`. */
function exampleOf(name: string): string {
  const [path = '', region] = name.split('#');
  const text = readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
  return `\`\`\`ts\n${region === undefined ? text.trimEnd() : regionOf(text, region, path)}\n\`\`\``;
}

function regionOf(text: string, region: string, path: string): string {
  const [, rest] = text.split(`// #region ${region}\n`);
  if (rest === undefined) throw new Error(`${path} has no region "${region}"`);
  return rest.split('// #endregion')[0]?.trimEnd() ?? '';
}
