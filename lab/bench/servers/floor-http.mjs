/** The floor over HTTP: `http-floor.mjs` on `node:http`. */
import { createServer } from 'node:http';
import { get, has, post, remove } from './http-floor.mjs';
import { sharedThrough } from './floor-hop.mjs';
import { listen } from './http-listening.mjs';

const streaming = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };

const { REDIS_URL } = process.env;
/** The other process; undefined without sharing. */
const shared = REDIS_URL === undefined ? undefined : sharedThrough(REDIS_URL);

const send = (response, { status, headers, text }) => {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) });
  response.end(text);
};

const server = createServer((request, response) => {
  const { headers } = request;
  const header = (name) => headers[name];
  switch (request.method) {
    case 'POST': {
      const pieces = [];
      request.on('data', (piece) => pieces.push(piece));
      request.on('end', () => {
        const whole = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
        if (shared && header('mcp-session-id') && !has(header)) {
          return void shared.forward(header, whole.toString(), (answer) => send(response, answer));
        }
        const answer = post(header, whole.toString());
        if (answer.open === undefined) {
          send(response, answer);
        } else {
          response.writeHead(200, streaming);
          answer.open(response);
        }
      });
      return;
    }
    case 'GET': {
      const open = get(header);
      if (open === undefined) return response.writeHead(404).end();
      response.writeHead(200, streaming);
      return open(response);
    }
    case 'DELETE':
      return response.writeHead(remove(header)).end();
    default:
      return response.writeHead(405).end();
  }
});
listen(server, (url) => void shared?.announce(url));
