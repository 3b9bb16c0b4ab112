/** `mcp-actors/serve`: a server as a process of its own. */
export { serve } from './serve.ts';
export type { ServeOptions } from './serve.ts';
export type { LogThreshold } from '../log/log.ts';
