/** The help texts and the documentation's tables. */
import { commands } from './commands.ts';
import { defaultOf, usageOf } from './option.ts';
import type { Option, OptionTable } from './option.ts';
import { options } from './options.ts';

const width = 80;
const indent = ' '.repeat(6);

/** What `mcp-actors --help` prints. */
export function helpText(): string {
  return `Usage: mcp-actors [serve] [options] [directories...]
       mcp-actors COMMAND [options]

Serves a workspace to an MCP client over stdin and stdout: find files, search text,
read files, inside the client's roots. Meant to be launched by an MCP host; run it
in a terminal to see the configuration for one.

Directories are where it works; with several, the client's roots choose among them.
Without any, the client's roots decide, then MCP_PROJECT_PATH, then the directory
that it is started in.

Times are written 500ms, 5s, 2min; sizes 64KiB, 16MiB; plain numbers are
milliseconds and bytes.

Commands; each has a --help of its own:
${commandRows()}

Options:
${optionsText(options)}

Environment:
  MCP_PROJECT_PATH       The project's directory, where neither a directory is given
                         nor the client has roots.
  MCP_ACTORS_LOG_LEVEL   As --log-level.

Exit status: 0 once the client has gone or a signal has ended the session; 1 after a
failure; 2 where the command was called wrongly.
`;
}

/** A table of options as a help text has it. */
export function optionsText(table: OptionTable): string {
  const rows = Object.entries(table).map(([name, option]) => {
    const short = 'short' in option && option.short !== undefined ? `-${option.short}, ` : '';
    return `  ${short}${usageOf(name, option)}\n${wrap(description(option))}`;
  });
  return rows.join('\n');
}

/** A table of options in Markdown, for the documentation. */
export function optionsTable(table: OptionTable = options): string {
  const rows = Object.entries(table).map(
    ([name, option]) =>
      `| \`${usageOf(name, option).replaceAll('|', '\\|')}\` | ${defaultOf(option) ?? ''} | ${option.help} |`,
  );
  return `| option | default | what it does |\n|---|---|---|\n${rows.join('\n')}\n`;
}

function commandRows(): string {
  const rows = Object.entries(commands).map(
    ([name, { usage, summary }]) => `  ${name} ${usage}\n${wrap(summary)}`,
  );
  return rows.join('\n');
}

function description(option: Option): string {
  const byDefault = defaultOf(option);
  return byDefault === undefined ? option.help : `${option.help} Default: ${byDefault}.`;
}

function wrap(text: string): string {
  const lines = text.split(' ').reduce<string[]>((done, word) => {
    const last = done.at(-1);
    if (last === undefined || last.length + 1 + word.length > width)
      return [...done, indent + word];
    return [...done.slice(0, -1), `${last} ${word}`];
  }, []);
  return lines.join('\n');
}
