/**
 * Serves the web service on loopback and prints the URL of its sessions on stderr.
 *
 * npx tsx examples/embedding/serve-web.ts 3000
 */
import { serve } from '@hono/node-server';
import { webService } from './web-service.ts';

const hosts: string[] = [];
const { fetch } = webService(hosts);
serve({ fetch, hostname: '127.0.0.1', port: Number(process.argv[2] ?? 3000) }, ({ port }) => {
  hosts.push(`127.0.0.1:${port}`, `localhost:${port}`);
  console.error(`http://127.0.0.1:${port}/sessions`);
});
