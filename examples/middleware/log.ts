import type { Middleware } from 'mcp-actors';

/** Logs the client and method of each request. */
export const log: Middleware = async ({ method, context }, next) => {
  const result = await next();
  console.error(`${context.client.info.name}: ${method}`);
  return result;
};
