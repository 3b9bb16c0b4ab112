/** The help text and the documentation's table of options. */
import { defaultOf, options } from './options.ts';
import type { Option } from './options.ts';

const width = 80;
const indent = ' '.repeat(6);

/** What `mcp-actors --help` prints. */
export function helpText(): string {
  const rows = entries().map(([name, option]) => {
    const short = 'short' in option && option.short !== undefined ? `-${option.short}, ` : '';
    return `  ${short}${usageOf(name, option)}\n${wrap(description(option))}`;
  });
  return `Usage: mcp-actors [serve] [options] [directories...]

Serves a workspace to an MCP client over stdin and stdout: find files, search text,
read files, inside the client's roots. Meant to be launched by an MCP host; run it
in a terminal to see the configuration for one.

Directories are where it works; with several, the client's roots choose among them.
Without any, the client's roots decide, then MCP_PROJECT_PATH, then the directory
that it is started in.

Times are written 500ms, 5s, 2min; sizes 64KiB, 16MiB; plain numbers are
milliseconds and bytes.

Options:
${rows.join('\n')}

Environment:
  MCP_PROJECT_PATH       The project's directory, where neither a directory is given
                         nor the client has roots.
  MCP_ACTORS_LOG_LEVEL   As --log-level.

Exit status: 0 once the client has gone or a signal has ended the session; 1 after a
failure; 2 where the command was called wrongly.
`;
}

/** The same options as a Markdown table, for the documentation. */
export function optionsTable(): string {
  const rows = entries().map(
    ([name, option]) =>
      `| \`${usageOf(name, option).replaceAll('|', '\\|')}\` | ${defaultOf(option) ?? ''} | ${option.help} |`,
  );
  return `| option | default | what it does |\n|---|---|---|\n${rows.join('\n')}\n`;
}

function entries(): readonly (readonly [string, Option])[] {
  return Object.entries<Option>(options);
}

function usageOf(name: string, option: Option): string {
  switch (option.kind) {
    case 'switch':
      return `--${name}`;
    case 'choice':
      return `--${name} ${option.choices.join('|')}`;
    case 'file':
      return `--${name} FILE`;
    case 'duration':
      return `--${name} TIME`;
    case 'size':
      return `--${name} SIZE`;
    case 'count':
      return `--${name} N`;
  }
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
