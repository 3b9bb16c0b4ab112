/** `mcp-actors/http/node`: a server over HTTP, as a handler of `node:http`. */
export { nodeHandler } from './node-handler.ts';
export type { NodeHandler } from './node-handler.ts';
