/** What the HTTP servers have in common: where they listen, how they say so, how they end. */

/**
 * Listens on loopback at `PORT`, or at a free port, and says its URL on stdout. A kept connection may be quiet for as long as it likes: the
 * client has nothing that would open another.
 * @param listening is called with the URL
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

/** After how long without a request a session is let go, milliseconds; 0 is never. */
export const sessionIdleMs = Number(process.env.SESSION_IDLE_MS ?? 0);

/** What a list change is as a message. */
export const listChanged = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };

/** A log message of so many bytes. */
export function logMessage(bytes) {
  return {
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: 'info', data: 'x'.repeat(bytes) },
  };
}
