/** `mcp-actors/serve`: a server as a process of its own, and over HTTP. */
export { serve, serveHttp } from './serve.ts';
export { openTaskStore } from './open-keeper.ts';
export type { TaskDirectoryOptions } from '../../tasks/src/sqlite/private-directory.ts';
export type { ServeOptions, ServeOverHttpOptions } from './serve.ts';
export { defaultServedConnectionLimits } from './served-connection-limits.ts';
export type { ServedConnectionLimits } from './served-connection-limits.ts';
export type { HealthPaths, HttpServing, ServeHttpOptions } from './http-serving.ts';
export type { LogThreshold } from '../../diagnostics/src/log/log.ts';
