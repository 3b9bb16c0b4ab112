/** One session per socket connection, with newline-delimited JSON as on stdio. */
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { stdio } from 'mcp-actors';
import type { McpServer } from 'mcp-actors';

export function tcpServer(server: McpServer): Server {
  return createServer((socket) => {
    const session = server.listen(stdio({ input: socket, output: socket }));
    void session.closed.then(() => socket.end());
  });
}
