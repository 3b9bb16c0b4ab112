/** Help texts of the command: one screen of common options, and topics for the rest. */
import { commands } from './commands.ts';
import type { HelpTopic } from './command.ts';
import { optionsText, quantitiesText } from './options/option.ts';
import type { CommandOption } from './options/option.ts';
import {
  flagsOfLimits,
  httpLimits,
  httpOptions,
  options,
  sessionLimits,
} from './options/serve-options.ts';

/** Common options. Each is also in a topic. */
const usual: readonly (readonly [name: keyof typeof options, usage: string, text: string])[] = [
  ['http', '--http [HOST:]PORT', 'Serve clients over HTTP instead.'],
  ['inspect', '--inspect[=PORT]', 'Show sessions live on a local page.'],
  ['record', '--record FILE', 'Record the session for mcp-actors replay.'],
  ['follow-roots', '--follow-roots', "Let the client's roots replace the directories."],
  ['log-level', '--log-level LEVEL', 'silent, error, warning (default), info or debug.'],
  ['log-file', '--log-file FILE', 'Append the log to this file instead of stderr.'],
  ['help', '-h, --help', 'Print this text.'],
  ['version', '-V, --version', 'Print the version.'],
];

const usages: { readonly [command: string]: string } = {
  serve: 'Usage: mcp-actors serve (FILE [--durable DIR|URL] | --openapi FILE|URL) [options]',
  workspace: 'Usage: mcp-actors workspace [options] [directories...]',
};

/** The commands that {@link commands} does not load. */
const served = [
  ['workspace', 'Serve files and search in your directories to an MCP host.'],
  ['serve', 'Serve a module or a REST API; with --durable, calls survive kill -9.'],
] as const;

const units = 'Durations: 500ms, 5s, 2min. Sizes: 64KiB, 16MiB, or plain bytes.';

/** Text of `mcp-actors --help`. */
export function helpText(): string {
  const known = Object.entries(commands)
    .filter(([, { besides }]) => besides === undefined)
    .map(([name, { summary }]) => [name, summary] as const);
  return `Usage: mcp-actors COMMAND [options]

Commands; mcp-actors help COMMAND tells more of one:
${rows([...served, ...known])}

Options of workspace and serve:
${rows(usual.map(([, flag, text]) => [flag, text]))}

More: mcp-actors help serve, help workspace, help limits, help http, help auth.
mcp-actors config HOST prints how a host launches the workspace server.

Environment:
  MCP_PROJECT_PATH       Project if there is neither a directory nor a root.
  MCP_ACTORS_LOG_LEVEL   Same as --log-level.

Exit status: 0 when the client disconnects or after a signal; 1 after a
failure; 2 for a usage error.
`;
}

/** Text of `mcp-actors help TOPIC`. */
export function topicText(topic: HelpTopic): string {
  const limits = limitsAbout[topic];
  const named = limits ? `\n\nLimits:\n${quantitiesText(limits)}` : '';
  return `${introductions[topic]}\n\nOptions:\n${optionsText(optionsAbout(topic))}${named}\n`;
}

/** Options of a topic in table order. */
export function optionsAbout(topic: HelpTopic): { readonly [name: string]: CommandOption } {
  const entries = Object.entries<CommandOption>(options);
  return Object.fromEntries(entries.filter(([name]) => isAbout(name, topic)));
}

const workspaceOnly = /^(follow-roots|primary-root|chdir|search-timeout)$/;
const serveOnly = /^(openapi.*|watch|durable|unsupervised)$/;

function isAbout(name: string, topic: HelpTopic): boolean {
  if (topic === 'workspace') return topicOf(name) === 'serve' && !serveOnly.test(name);
  return topicOf(name) === topic && !(topic === 'serve' && workspaceOnly.test(name));
}

function topicOf(name: string): HelpTopic {
  if (name === 'limit') return 'limits';
  if (name.startsWith('auth-')) return 'auth';
  const limit = new Map<string, string>(Object.entries(flagsOfLimits)).get(name);
  return name in httpOptions || limit?.startsWith('http.') ? 'http' : 'serve';
}

const limitsAbout: { readonly [topic in HelpTopic]?: typeof sessionLimits } = {
  limits: sessionLimits,
  http: httpLimits,
};

const introductions: { readonly [topic in HelpTopic]: string } = {
  serve: `${usages['serve']}

Serves the server that a module exports or gives to serve(), over stdio, or the
operations of an OpenAPI document as tools, over stdio or HTTP. With --durable, calls
and tasks of durable tools continue after kill -9.

${units}
The bounds are in mcp-actors help limits.`,
  workspace: `${usages['workspace']}

Serves a workspace to an MCP client: find files, search text, read files, inside the
client's roots. It works in these directories; with several, the client's roots choose
among them. Without any, the client's roots decide, then MCP_PROJECT_PATH, then the
directory that it is started in. In a terminal it prints the configuration for hosts.

${units}
The bounds are in mcp-actors help limits, the address in mcp-actors help http.`,
  limits: `The bounds of a session, over stdio and HTTP. Those of the HTTP endpoint are in
mcp-actors help http.

${units}`,
  http: `Usage: mcp-actors workspace --http [HOST:]PORT [options] [directories...]

Serves clients of both eras over HTTP, each with its own workspace.
?project_path=/absolute/path in the URL selects the project if there are no roots.

For the host configuration see mcp-actors config HOST --http PORT.

${units}`,
  auth: `Usage: mcp-actors workspace --http PORT --auth-issuer URL --auth-audience URL

Requires an access token from the issuer, for this server, on every HTTP request.
The response to the first request tells clients where to get one.`,
};

/** Formats names and descriptions, one per line. */
function rows(table: readonly (readonly [name: string, text: string])[]): string {
  const width = Math.max(...table.map(([name]) => name.length));
  return table.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`).join('\n');
}
