/** The parts of the docs that are made from the code. They stand between `<!-- generated: name -->` and `<!-- end -->`. */
import { readFileSync } from 'node:fs';
import { invariants } from '../src/check/invariants/all.ts';
import { checkOptions } from '../src/cli/check.ts';
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
  'check options': () => optionsTable(checkOptions).trim(),
  'check invariants': invariantsTable,
};

export const generatedPages: readonly URL[] = [
  'README.md',
  'docs/architecture.md',
  'docs/checking.md',
  'docs/inspecting.md',
  'docs/limits.md',
  'docs/server.md',
  'docs/tasks.md',
  'docs/examples.md',
  'docs/middleware.md',
  'docs/opentelemetry.md',
  'docs/schemas.md',
  'docs/testing.md',
  'docs/transports.md',
].map((path) => new URL(`../${path}`, import.meta.url));

/** The invariants of `mcp-actors check`, as the latest revision demands them. */
function invariantsTable(): string {
  const rows = invariants.map(({ id, title, demanded }) => {
    const { demand, clause } = demanded('2025-11-25') ?? demanded('2025-03-26') ?? {};
    return `| \`${id}\` | ${title} | ${demand} | ${clause?.page}, ${clause?.heading} |`;
  });
  return `| id | what holds | demand | where |\n|---|---|---|---|\n${rows.join('\n')}`;
}

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
