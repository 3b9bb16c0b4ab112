/** `mcp-actors/serve`: a server as a process of its own, and over HTTP. */
export { serve, serveHttp } from './serve.ts';
export { openTaskStore } from './open-task-worker.ts';
export type { ServeOptions } from './serve.ts';
export type { ServeHttpOptions } from './http-serving.ts';
export type { LogThreshold } from '../../diagnostics/src/log/log.ts';
