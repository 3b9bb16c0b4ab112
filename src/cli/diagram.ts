/** `mcp-actors diagram`: the charts of the machines, drawn from their code. */
import { writeFile } from 'node:fs/promises';
import { svgDiagram } from '../inspect/charts/chart-svg.ts';
import { charts, mermaidDiagram } from '../inspect/charts/diagram.ts';
import type { ChartName } from '../inspect/charts/diagram.ts';
import { machineDefinition } from '../inspect/charts/machine-definition.ts';
import { UsageError, print } from './command.ts';
import type { Command } from './command.ts';
import { optionsText } from './options/option.ts';
import type { OptionTable } from './options/option.ts';
import { parseOptions, switchIn } from './options/parse-options.ts';

/** Each text ends with a line feed. */
const formats: { readonly [format: string]: (name: ChartName) => string } = {
  mermaid: (name) => mermaidDiagram(charts[name]),
  svg: svgDiagram,
  json: (name) => `${JSON.stringify(machineDefinition(charts[name]), undefined, 2)}\n`,
};

export const diagramOptions = {
  format: {
    kind: 'choice',
    choices: Object.keys(formats),
    default: 'mermaid',
    help: "Text for Mermaid, a picture, or a machine config that XState's createMachine takes.",
  },
  output: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Write it to this file, over what is there, instead of stdout.',
  },
  help: { kind: 'switch', short: 'h', help: 'Print this text.' },
} as const satisfies OptionTable;

const names = Object.keys(charts).join(', ');

const help = `Usage: mcp-actors diagram [options] [NAME]

Prints the chart of a machine, drawn from its code: ${names}.
Without a name, the session's.

Options:
${optionsText(diagramOptions)}

Examples:
  mcp-actors diagram roots
  mcp-actors diagram session --format svg --output session.svg
`;

export const command: Command = {
  run: async (args) => {
    const line = { command: 'mcp-actors diagram', args };
    if (switchIn(diagramOptions, line, 'help')) {
      await print(process.stdout, help);
      return 0;
    }
    const { values, positionals } = parseOptions(diagramOptions, line);
    const text = formats[values.format]?.(nameIn(positionals)) ?? '';
    if (values.output === undefined) await print(process.stdout, text);
    else await write(values.output, text);
    return 0;
  },
};

function nameIn([name = 'session', ...more]: readonly string[]): ChartName {
  if (more.length > 0) throw new UsageError(`diagram takes one name, these are ${more.length + 1}`);
  if (Object.hasOwn(charts, name)) return name as ChartName;
  throw new UsageError(`There is no machine ${JSON.stringify(name)}; there are ${names}`);
}

async function write(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (error) {
    throw new UsageError(
      `--output: ${JSON.stringify(path)} cannot be written to: ${(error as Error).message}`,
      { cause: error },
    );
  }
}
