/** `mcp-actors/serve`: runs a server as a process, over stdio or HTTP. */
export { serve, serveHttp } from './serve.ts';
export { openTaskStore } from './open-task-worker.ts';
export type { ServeOptions } from './serve.ts';
export type { ServeHttpOptions } from './http-serving.ts';
export type { LogThreshold } from '../../diagnostics/src/log/log.ts';
