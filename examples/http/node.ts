/** Mounted beside other paths of your own `node:http` server. */
import { createServer } from 'node:http';
import { nodeHandler } from 'mcp-actors/http/node';
import { greeter } from './greeter.ts';

const mcp = nodeHandler(greeter);

export const server = createServer((request, response) => {
  if (request.url?.startsWith('/mcp')) mcp(request, response);
  else response.writeHead(404).end();
});
