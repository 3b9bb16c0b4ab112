/** `mcp-actors diagram`: the charts of the machines, drawn from their code. */
import { charts, mermaidDiagram } from '../inspect/diagram.ts';
import type { ChartName } from '../inspect/diagram.ts';
import type { Command } from './commands.ts';
import { optionsText } from './help.ts';
import type { OptionTable } from './option.ts';
import { parseOptions, switchIn } from './parse-options.ts';
import { print } from './print.ts';
import { UsageError } from './usage-error.ts';

const options = {
  help: { kind: 'switch', short: 'h', help: 'Print this text.' },
} as const satisfies OptionTable;

const help = `Usage: mcp-actors diagram [NAME]

Prints the chart of a machine, drawn from its code: ${Object.keys(charts).join(', ')}.
Without a name, the session's.

Options:
${optionsText(options)}
`;

export const command: Command = {
  run: async (args) => {
    const line = { command: 'mcp-actors diagram', args };
    if (switchIn(options, line, 'help')) {
      await print(process.stdout, help);
      return 0;
    }
    const [name = 'session', ...more] = parseOptions(options, line).positionals;
    if (more.length > 0)
      throw new UsageError(`diagram takes one name, these are ${more.length + 1}`);
    if (!Object.hasOwn(charts, name)) {
      const known = Object.keys(charts).join(', ');
      throw new UsageError(`There is no machine ${JSON.stringify(name)}; there are ${known}`);
    }
    await print(process.stdout, mermaidDiagram(charts[name as ChartName]));
    return 0;
  },
};
