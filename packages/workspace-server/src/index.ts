/** Public entry `@mcp-actors/workspace-server`: the server behind `mcp-actors serve`. */
export { workspaceRootsUri, workspaceServer } from './workspace-server.ts';
export type { ChosenProject, WorkspaceOptions, WorkspaceServer } from './workspace-server.ts';
export { defaultSearchTimeoutMs } from './search/search-limits.ts';
