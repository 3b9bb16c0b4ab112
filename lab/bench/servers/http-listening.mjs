/** Shared code of the HTTP servers: listening, announcing the URL, and exiting. */

/**
 * Listens on loopback at `PORT`, or at a free port, and prints the URL on stdout. Idle connections
 * never time out, because the client cannot reconnect.
 * @param listening called with the URL
 */
export function listen(server, listening = () => {}) {
  server.keepAliveTimeout = 0;
  server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
    const url = `http://127.0.0.1:${server.address().port}/mcp`;
    listening(url);
    process.stdout.write(`${url}\n`);
  });
  process.once('SIGTERM', () => process.exit(0));
}

/** Idle timeout of a session, ms; 0 for none. */
export const sessionIdleMs = Number(process.env.SESSION_IDLE_MS ?? 0);

/** List change notification. */
export const listChanged = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };

/** Log message of this many bytes. */
export function logMessage(bytes) {
  return {
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: 'info', data: 'x'.repeat(bytes) },
  };
}
