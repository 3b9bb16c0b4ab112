/** Mounted in Next.js: `app/mcp/route.ts`, in a single long-lived process. */
import { httpHandler } from 'mcp-actors/http';
import { greeter } from './greeter.ts';

const mcp = httpHandler(greeter);

const handle = (request: Request) => mcp(request);

export { handle as DELETE, handle as GET, handle as OPTIONS, handle as POST };
