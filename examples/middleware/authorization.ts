import { ToolError } from 'mcp-actors';
import type { Middleware } from 'mcp-actors';

/** Allows only the given clients to call tools that modify data. */
export function writersOnly(
  writers: ReadonlySet<string>,
  writing: ReadonlySet<string>,
): Middleware {
  return ({ method, params, context }, next) => {
    const isWriting = method === 'tools/call' && writing.has(String(params?.['name']));
    if (!isWriting || writers.has(context.client.info.name)) return next();
    throw new ToolError('This client may look, but not write', { code: 'READ_ONLY' });
  };
}
