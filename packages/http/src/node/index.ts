/** `mcp-actors/http/node`: MCP over HTTP as a handler for `node:http`. */
export { nodeHandler } from './node-handler.ts';
export type { NodeHandler } from './node-handler.ts';
