/** The help text of the whole command. */
import { commands } from './commands.ts';
import { optionsText, wrap } from './options/option.ts';
import { options } from './options/serve-options.ts';

/** What `mcp-actors --help` prints. */
export function helpText(): string {
  return `Usage: mcp-actors [serve] [options] [directories...]
       mcp-actors COMMAND [options]

Serves a workspace to an MCP client over stdin and stdout: find files, search text,
read files, inside the client's roots. Meant to be launched by an MCP host; run it
in a terminal to see the configuration for one. With --http it serves any number of
clients over HTTP, each with a workspace of its own.

It works in these directories; with several, the client's roots choose among them.
Without any, the client's roots decide, then MCP_PROJECT_PATH, then the directory
that it is started in. Over HTTP, ?project_path=/absolute/path in the URL decides if
there are no roots.

Times are written 500ms, 5s, 2min; sizes 64KiB, 16MiB, or plain numbers of bytes.

Commands; mcp-actors help COMMAND tells more of one:
${commandRows()}

Options:
${optionsText(options)}

Environment:
  MCP_PROJECT_PATH       The project's directory, if no directory is given and
                         the client has no roots.
  MCP_ACTORS_LOG_LEVEL   As --log-level.

Exit status: 0 once the client has gone or a signal has ended the session; 1 after a
failure; 2 if the command was called wrongly.
`;
}

function commandRows(): string {
  const rows = Object.entries(commands).map(
    ([name, { usage, summary }]) => `  ${name} ${usage}\n${wrap(summary)}`,
  );
  return rows.join('\n');
}
