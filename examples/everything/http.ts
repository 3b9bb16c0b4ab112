/**
 * The everything server over HTTP, both eras on one endpoint. Prints its URL on stderr.
 *
 * npx tsx examples/everything/http.ts --port 3000
 */
import { parseArgs } from 'node:util';
import { serveHttp } from 'mcp-actors/serve';
import { everything } from './server.ts';

const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } });
const port = Number(values.port);
if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  console.error(`--port must be 0 to 65535, got ${JSON.stringify(values.port)}`);
  process.exit(2);
}

const serving = await serveHttp(everything, { port });
console.error(serving.url.href);

const end = () => void serving.close().then(() => process.exit(0));
process.once('SIGINT', end);
process.once('SIGTERM', end);
