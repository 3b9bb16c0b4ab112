/** `mcp-actors diagram`: the charts of the machines, drawn from their code. */
import { writeFile } from 'node:fs/promises';
import { UsageError, print } from './command.ts';
import { machineDefinition, mermaidDiagram, svgDiagram } from '@mcp-actors/inspector/diagrams';
import { charts, quoted } from 'mcp-actors/internal';
import type { DrawnMachine } from '@mcp-actors/inspector/diagrams';
import { machinesIn } from './module-machines.ts';
import { optionsText } from './options/option.ts';
import type { OptionTable } from './options/option.ts';
import { commandOf, helpOption } from './options/parse-options.ts';

/** Each text ends with a line feed. */
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
    help: "Text for Mermaid, a picture, or a machine config that XState's createMachine takes.",
  },
  output: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Write it to this file, over what is there, instead of stdout.',
  },
  help: helpOption,
} as const satisfies OptionTable;

const names = Object.keys(charts).join(', ');

const help = `Usage: mcp-actors diagram [options] [NAME]
       mcp-actors diagram [options] FILE [NAME]

Prints the chart of a machine, drawn from its code: ${names}.
Without a name, the session's.

With a FILE, a module of yours, a machine of that: a tool that is one, by the tool's
name, or a machine that it exports, by its id. The module is loaded, so what stands
in it is run; its server does not serve. NAME may be left out if there is one machine.

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
  // None of the built-in machines has such a name.
  const isFile = /[./\\]/.test(first);
  const extra = isFile ? more.length : more.length + (second === undefined ? 0 : 1);
  if (extra > 0) {
    const takes = isFile ? 'a file and one name' : 'one name';
    throw new UsageError(`diagram takes ${takes}, these are ${extra + (isFile ? 2 : 1)}`);
  }
  if (isFile) return named(await machinesIn(first), second, first);
  if (Object.hasOwn(charts, first)) return charts[first as keyof typeof charts];
  throw new UsageError(`There is no machine ${quoted(first)}; there are ${names}`);
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
      : `There is no machine ${quoted(name)} in ${quoted(file)}; there are ${known}`,
  );
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
