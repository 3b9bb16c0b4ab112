/** `mcp-actors diagram`: prints charts of state machines, generated from their code. */
import { writeFile } from 'node:fs/promises';
import { UsageError, print } from './command.ts';
import { machineDefinition, mermaidDiagram, svgDiagram } from '@mcp-actors/inspector/diagrams';
import { charts, quoted } from 'mcp-actors/internal';
import type { DrawnMachine } from '@mcp-actors/inspector/diagrams';
import { machinesIn } from './module-machines.ts';
import { optionsText } from './options/option.ts';
import type { OptionTable } from './options/option.ts';
import { commandOf, helpOption } from './options/parse-options.ts';

/** Output formats. Each text ends with a line feed. */
const formats: { readonly [format: string]: (machine: DrawnMachine) => string } = {
  mermaid: mermaidDiagram,
  svg: svgDiagram,
  json: (machine) => `${JSON.stringify(machineDefinition(machine), undefined, 2)}\n`,
};

export const diagramOptions = {
  format: {
    kind: 'choice',
    choices: Object.keys(formats),
    default: 'mermaid',
    help: "Mermaid text, an SVG picture, or a JSON machine config for XState's createMachine.",
  },
  output: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Write to this file, overwriting it, instead of stdout.',
  },
  help: helpOption,
} as const satisfies OptionTable;

const names = Object.keys(charts).join(', ');

const help = `Usage: mcp-actors diagram [options] [NAME]
       mcp-actors diagram [options] FILE [NAME]

Prints the chart of a state machine, generated from its code: ${names}.
Default: session.

With a FILE, your own module, prints one of its machines: that of a machine tool, by the tool's
name, or an exported machine, by its id. The module is loaded, so its top-level code
runs; its server does not serve. NAME may be omitted if there is only one machine.

Options:
${optionsText(diagramOptions)}

Examples:
  mcp-actors diagram roots
  mcp-actors diagram session --format svg --output session.svg
  mcp-actors diagram ./server.js book
`;

export const command = commandOf(
  'mcp-actors diagram',
  { options: diagramOptions, help },
  async ({ values, positionals }) => {
    const text = formats[values.format]?.(await chartIn(positionals)) ?? '';
    if (values.output === undefined) await print(process.stdout, text);
    else await write(values.output, text);
    return 0;
  },
);

async function chartIn([
  first = 'session',
  second,
  ...more
]: readonly string[]): Promise<DrawnMachine> {
  // Built-in names contain none of these characters.
  const isFile = /[./\\]/.test(first);
  const extra = isFile ? more.length : more.length + (second === undefined ? 0 : 1);
  if (extra > 0) {
    const takes = isFile ? 'a file and one name' : 'one name';
    throw new UsageError(`diagram takes ${takes}, got ${extra + (isFile ? 2 : 1)} arguments`);
  }
  if (isFile) return named(await machinesIn(first), second, first);
  if (Object.hasOwn(charts, first)) return charts[first as keyof typeof charts];
  throw new UsageError(`Unknown machine ${quoted(first)}; known: ${names}`);
}

function named(
  machines: ReadonlyMap<string, DrawnMachine>,
  name: string | undefined,
  file: string,
): DrawnMachine {
  const [only, ...others] = machines.values();
  const machine = name === undefined && others.length === 0 ? only : machines.get(name ?? '');
  if (machine) return machine;
  const known = [...machines.keys()].join(', ');
  throw new UsageError(
    name === undefined
      ? `${quoted(file)} has several machines; name one: ${known}`
      : `Unknown machine ${quoted(name)} in ${quoted(file)}; known: ${known}`,
  );
}

async function write(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (error) {
    throw new UsageError(
      `--output: ${JSON.stringify(path)} cannot be written: ${(error as Error).message}`,
      { cause: error },
    );
  }
}
