/**
 * For platforms that take a module with `fetch`: `bun examples/http/fetch.ts`, `deno serve
 * examples/http/fetch.ts`, or a worker.
 */
import { httpHandler } from 'mcp-actors/http';
import { greeter } from './greeter.ts';

const mcp = httpHandler(greeter, { path: '/mcp' });

export default { fetch: (request: Request) => mcp(request) };
