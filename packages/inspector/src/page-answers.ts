/** Routes of the page's server: the document, its assets, and the stream of updates. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { scripts, style } from '#inspect-page';
import { refuseRequest } from './loopback-server.ts';
import { page } from './page-document.ts';
import type { PageSessions } from './page-sessions.ts';

/** Bytes queued for a page that does not read. */
const maxQueuedBytes = 4 * 1024 * 1024;

/** A highlighted state. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect x="1.5" y="3.5" width="13" height="9" rx="3" fill="#ffd86b" stroke="#9a6700" stroke-width="2"/></svg>';

export function pageHandler(sessions: PageSessions) {
  return (path: string, request: IncomingMessage, response: ServerResponse): void => {
    switch (path) {
      case '':
        return send(response, 'text/html', page);
      case 'page.css':
        return send(response, 'text/css', style);
      case 'icon.svg':
        return send(response, 'image/svg+xml', icon);
      case 'updates':
        return stream(sessions, request, response);
      default: {
        const script = Object.hasOwn(scripts, path) ? scripts[path] : undefined;
        if (script === undefined) return refuseRequest(response, 404);
        return send(response, 'text/javascript', script);
      }
    }
  };
}

function send(response: ServerResponse, type: string, text: string): void {
  response.writeHead(200, { 'content-type': `${type}; charset=utf-8` });
  response.end(text);
}

/** @see WHATWG HTML, "Server-sent events" */
function stream(sessions: PageSessions, request: IncomingMessage, response: ServerResponse): void {
  // Last response on this connection: closing it after `end` flushes all data.
  const type = { 'content-type': 'text/event-stream; charset=utf-8', connection: 'close' };
  response.writeHead(200, type);
  const close = sessions.open({
    send: (update) => {
      if (response.writableLength > maxQueuedBytes) return false;
      response.write(`data: ${JSON.stringify(update)}\n\n`);
      return true;
    },
    end: () => response.end('event: end\ndata: \n\n'),
  });
  request.socket.once('close', close);
}
