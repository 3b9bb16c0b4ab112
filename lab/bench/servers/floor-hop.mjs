/**
 * A plain HTTP hop: POSTs are forwarded to the other process, and the responses come back. Nothing
 * is validated or signed.
 */
import { Agent, request } from 'node:http';
import { createClient } from 'redis';

/** Request headers the other process needs. */
const names = ['mcp-session-id', 'mcp-protocol-version', 'content-type', 'accept'];

const agent = new Agent({ keepAlive: true });

/**
 * Returns `announce(url)`, and `forward(header, text, answered)` to the process that announced
 * another URL.
 */
export function sharedThrough(redisUrl) {
  let other;
  let own;
  const found = async () => {
    const client = await createClient({ url: redisUrl, RESP: 2 }).connect();
    for (;;) {
      const urls = await client.lRange('floors', 0, -1);
      const url = urls.find((each) => each !== own);
      if (url) {
        client.destroy();
        return new URL(url);
      }
    }
  };
  return {
    async announce(url) {
      own = url;
      const client = await createClient({ url: redisUrl, RESP: 2 }).connect();
      await client.rPush('floors', url);
      client.destroy();
    },
    async forward(header, text, answered) {
      const { hostname, port, pathname } = await (other ??= found());
      const headers = { 'content-length': Buffer.byteLength(text) };
      for (const name of names) if (header(name)) headers[name] = header(name);
      const sent = request({ agent, hostname, port, path: pathname, method: 'POST', headers });
      sent.on('response', (response) => {
        let body = '';
        response.on('data', (piece) => (body += piece));
        response.on('end', () => {
          const { 'content-type': type } = response.headers;
          answered({
            status: response.statusCode,
            headers: type ? { 'content-type': type } : {},
            text: body,
          });
        });
      });
      sent.end(text);
    },
  };
}
