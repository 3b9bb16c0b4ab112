/** `@mcp-actors/workspace-server`: the server that the command `mcp-actors serve` runs. */
export { workspaceRootsUri, workspaceServer } from './workspace-server.ts';
export type { ChosenProject, WorkspaceOptions, WorkspaceServer } from './workspace-server.ts';
export { defaultSearchTimeoutMs } from './search/search-turns.ts';
