import type { Middleware } from 'mcp-actors';

/** Writes who has asked for what. */
export const log: Middleware = async ({ method, context }, next) => {
  const result = await next();
  console.error(`${context.client.info.name}: ${method}`);
  return result;
};
