/** The parts of the docs that are made from the code. They stand between `<!-- generated: name -->` and `<!-- end -->`. */
import { readFileSync, readdirSync } from 'node:fs';
import { extname } from 'node:path';
import { invariants, onlyOverHttp } from '@mcp-actors/checker';
import type { Invariant } from '@mcp-actors/checker';
import { bridgeOptions } from '../packages/cli/src/options/bridge-options.ts';
import { checkOptions } from '../packages/cli/src/check.ts';
import { callOptions } from '../packages/cli/src/client/call.ts';
import { loginOptions } from '../packages/cli/src/client/login.ts';
import { devOptions } from '../packages/cli/src/dev/dev.ts';
import { doctorOptions } from '../packages/cli/src/doctor/doctor.ts';
import { optionsTable, quantitiesTable } from '../packages/cli/src/options/option.ts';
import { httpLimits, options, sessionLimits } from '../packages/cli/src/options/serve-options.ts';
import { describeDump } from '../packages/diagnostics/src/dump-text.ts';
import { svgDiagram } from '@mcp-actors/inspector/diagrams';
import { charts } from '../src/charts.ts';
import { bookingMachine } from '../examples/booking/booking.machine.ts';
import { secretKeyWords, secretPlaces, tokenForms } from '../packages/diagnostics/src/secrets.ts';
import { cellsTable } from '../packages/bridge/test/cells.ts';
import { groups, layers, packageLayers, runtime } from '../test/tooling/layers.ts';
import { shownDump } from './shown-dump.ts';

const { version } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { readonly version: string };

/** The charts that pages show: those of the runtime, and that of an example. */
const shownCharts = { ...charts, booking: bookingMachine };

/** The generated parts, by name. A part with a picture depends on the folder of its page. */
const parts: { readonly [name: string]: (page: URL) => string } = {
  ...Object.fromEntries(
    Object.keys(shownCharts).map((name) => [
      `${name} chart`,
      (page: URL) => `![The machine of ${name}](${toRoot(page)}docs/charts/${name}.svg)`,
    ]),
  ),
  options: () => optionsTable(options).trim(),
  'session limits': () => quantitiesTable(sessionLimits),
  'http limits': () => quantitiesTable(httpLimits).replaceAll('`http.', '`'),
  'bridge options': () => optionsTable(bridgeOptions).trim(),
  'call options': () => optionsTable(callOptions).trim(),
  'login options': () => optionsTable(loginOptions).trim(),
  'check options': () => optionsTable(checkOptions).trim(),
  'check invariants': () => invariantsTable(invariants),
  'check invariants over HTTP': () => invariantsTable(onlyOverHttp),
  'dev options': () => optionsTable(devOptions).trim(),
  'doctor options': () => optionsTable(doctorOptions).trim(),
  'secret keys': () => secretKeyWords.map((word) => `\`${word}\``).join(', '),
  'secret forms': secretFormsTable,
  'doctor report': () =>
    fenced('text', `mcp-actors ${version}, process 8607\n${describeDump(shownDump)}`.trimEnd()),
  groups: groupsTable,
  'bridge cells': cellsTable,
  layers: layersTable,
  packages: packagesTable,
};

const repository = new URL('../', import.meta.url);

const read = (path: string | URL): string => readFileSync(new URL(path, repository), 'utf8');

/** The pages with generated parts. */
export const generatedPages: readonly URL[] = [
  'README.md',
  ...['docs', 'docs/maintaining'].flatMap((folder) =>
    readdirSync(new URL(folder, repository)).map((name) => `${folder}/${name}`),
  ),
  ...readdirSync(new URL('packages', repository)).map((name) => `packages/${name}/README.md`),
]
  .filter((path) => path.endsWith('.md') && read(path).includes('<!-- generated: '))
  .map((path) => new URL(path, repository));

/** The invariants of `mcp-actors check`, as the latest revision demands them. */
function invariantsTable(shown: readonly Invariant[]): string {
  const rows = shown.map(({ id, title, demanded }) => {
    const { demand, clause } =
      demanded('2025-11-25') ?? demanded('2025-03-26') ?? demanded('2026-07-28') ?? {};
    return `| \`${id}\` | ${title} | ${demand} | ${clause?.page}, ${clause?.heading} |`;
  });
  return `| id | what holds | demand | where |\n|---|---|---|---|\n${rows.join('\n')}`;
}

/** The groups of layers. */
function groupsTable(): string {
  const rows = Object.entries(groups).map(
    ([name, { holds, of }]) =>
      `| ${name} | ${holds} | ${of.map((path) => `\`${path}\``).join(', ')} |`,
  );
  return `| group | contents | folders and packages |\n|---|---|---|\n${rows.join('\n')}`;
}

/** The layers of the library, as the test that reads the imports has them. */
function layersTable(): string {
  const rows = Object.entries(layers).map(([path, { holds, imports }]) => {
    const hasRuntime = runtime.every((name) => imports.includes(name));
    const named = hasRuntime ? imports.filter((name) => !runtime.includes(name)) : imports;
    const what = [...(hasRuntime ? ['the runtime'] : []), ...named.map((name) => `\`${name}\``)];
    return `| \`${path}\` | ${holds} | ${what.join(', ') || 'nothing'} |`;
  });
  return `| layer | contents | imports |\n|---|---|---|\n${rows.join('\n')}`;
}

/** The layers of each package below its own `src/`. */
function packagesTable(): string {
  const rows = Object.entries(packageLayers).flatMap(([name, table]) =>
    Object.entries(table).map(([path, { holds, imports }]) => {
      const what = imports.map((each) => `\`${each}\``).join(', ');
      const place = path === '.' ? `${name}/src` : `${name}/src/${path}`;
      return `| \`${place}\` | ${holds} | ${what || 'nothing'} |`;
    }),
  );
  return `| in \`packages/\` | what it holds | imports of the same package |\n|---|---|---|\n${rows.join('\n')}`;
}

/** What is taken for a secret in a text; the secret stands in brackets. */
function secretFormsTable(): string {
  const rows = [...secretPlaces, ...tokenForms].map(({ what, examples }) => {
    const shown = examples.map((example) => `\`${example}\``).join('<br>');
    return `| ${what} | ${shown} |`;
  });
  return `| what is found | examples |\n|---|---|\n${rows.join('\n')}`;
}

/** Every chart as a picture of its own, with what `mcp-actors diagram NAME --format svg` prints. */
export function chartFiles(): readonly { readonly file: URL; readonly text: string }[] {
  return Object.entries(shownCharts).map(([name, machine]) => ({
    file: new URL(`../docs/charts/${name}.svg`, import.meta.url),
    text: svgDiagram(machine),
  }));
}

/** The way from a page to the root of the repository: `../`. */
function toRoot(page: URL): string {
  const path = page.pathname.slice(repository.pathname.length);
  return '../'.repeat(path.split('/').length - 1);
}

/** A page with its generated parts as the code makes them today. */
export function withGenerated(page: URL): string {
  return read(page).replace(
    /<!-- generated: (.*?) -->[^]*?<!-- end -->/g,
    (_, name: string) =>
      `<!-- generated: ${name} -->\n\n${parts[name]?.(page) ?? exampleOf(name)}\n\n<!-- end -->`,
  );
}

/** `examples/a.ts`: the file; `examples/a.ts#name`: what stands in it between each `// #region name` and `// #endregion`, without its indent. */
function exampleOf(name: string): string {
  const [path = '', region] = name.split('#');
  const text = read(path);
  const shown =
    region === undefined
      ? text.replaceAll(/^ *\/\/ #(region .*|endregion)\n/gm, '').trimEnd()
      : regionOf(text, region, path);
  return fenced(languages[extname(path)] ?? '', shown);
}

const languages: { readonly [extension: string]: string } = {
  '.ts': 'ts',
  '.mjs': 'js',
  '.jsonl': 'json',
  '.jsonc': 'jsonc',
};

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

/** A region may have several parts. */
function regionOf(text: string, region: string, path: string): string {
  const [, ...parts] = text.split(`// #region ${region}\n`);
  if (parts.length === 0) throw new Error(`${path} has no region "${region}"`);
  return parts
    .map((part) => dedented(part.split('// #endregion')[0]?.trimEnd() ?? ''))
    .join('\n\n');
}

function dedented(text: string): string {
  const indent = /^ */.exec(text)?.[0] ?? '';
  return text.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
}
