/** The greeting for a person who starts the command in a terminal. */
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** How a host launches this command. */
export interface LaunchCommand {
  /** Absolute. */
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * The absolute command line that runs this script again.
 *
 * @param script the command's module, as `import.meta.url`
 * @param args the arguments that follow it
 */
export function launchOf(script: string, args: readonly string[]): LaunchCommand {
  const path = fileURLToPath(script);
  return { command: process.execPath, args: [...loaderOf(path), path, ...args] };
}

/** Sources need tsx. As an import it adds no process that would have to relay signals and pipes. */
function loaderOf(path: string): readonly string[] {
  if (!path.endsWith('.ts')) return [];
  return ['--import', pathToFileURL(createRequire(path).resolve('tsx')).href];
}

/** Both forms of a host's configuration, ready to paste. */
export function hostConfiguration({ command, args }: LaunchCommand): string {
  const server = { command, args };
  const servers = { servers: { workspace: { type: 'stdio', ...server } } };
  return `Most hosts (Claude Desktop, Cursor, Windsurf and others), in their MCP configuration:

${JSON.stringify({ mcpServers: { workspace: server } }, undefined, 2)}

VS Code, in .vscode/mcp.json:

${JSON.stringify(servers, undefined, 2)}
`;
}

/** Says that the process waits for a client, and how a host would launch it. */
export function greeting(launch: LaunchCommand): string {
  return `mcp-actors is waiting for an MCP client on stdin: JSON-RPC messages, one on a line.
It is meant to be launched by an MCP host rather than by hand. Ctrl+C or Ctrl+D ends it; --help tells more.

${hostConfiguration(launch)}`;
}
