/** What the command says to a person who starts it in a terminal. */
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** How a host launches this command. */
export interface Launch {
  /** Absolute. */
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * The absolute command that runs this very script again.
 *
 * @param script the command's module, as `import.meta.url`
 * @param args the arguments that follow it
 */
export function launchOf(script: string, args: readonly string[]): Launch {
  const path = fileURLToPath(script);
  return { command: process.execPath, args: [...loaderOf(path), path, ...args] };
}

/** From the source tree, Node needs tsx; as an import it stays one process, so that signals and pipes need no relay. */
function loaderOf(path: string): readonly string[] {
  if (!path.endsWith('.ts')) return [];
  return ['--import', pathToFileURL(createRequire(path).resolve('tsx')).href];
}

/** Both forms of configuration, ready to be pasted. */
export function hostConfiguration({ command, args }: Launch): string {
  const server = { command, args };
  const servers = { servers: { workspace: { type: 'stdio', ...server } } };
  return `Most hosts (Claude Desktop, Cursor, Windsurf and others), in their MCP configuration:

${JSON.stringify({ mcpServers: { workspace: server } }, undefined, 2)}

VS Code, in .vscode/mcp.json:

${JSON.stringify(servers, undefined, 2)}
`;
}

/** Says what the process is waiting for. */
export function greeting(launch: Launch): string {
  return `mcp-actors is waiting for an MCP client on stdin: JSON-RPC messages, one on a line.
It is meant to be launched by an MCP host rather than by hand. Ctrl+C or Ctrl+D ends it; --help tells more.

${hostConfiguration(launch)}`;
}
