/** The floor over HTTP on hono and its Node adapter instead of `node:http`. */
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { get, post, remove } from './http-floor.mjs';
import { listen } from './http-listening.mjs';

const encoder = new TextEncoder();
const app = new Hono();
const headerOf = (context) => (name) => context.req.header(name);

/** A web stream that `open` writes to until the client disconnects. */
function streamed(open) {
  let isOpen = true;
  const body = new ReadableStream({
    start: (controller) => {
      void open({
        write: (text) => {
          if (isOpen) controller.enqueue(encoder.encode(text));
        },
        end: () => {
          if (isOpen) controller.close();
          isOpen = false;
        },
      });
    },
    cancel: () => {
      isOpen = false;
    },
  });
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' },
  });
}

app.post('/mcp', async (context) => {
  const answer = post(headerOf(context), await context.req.text());
  if (answer.open !== undefined) return streamed(answer.open);
  return context.body(answer.text === '' ? null : answer.text, answer.status, answer.headers);
});
app.get('/mcp', (context) => {
  const open = get(headerOf(context));
  return open === undefined ? context.body(null, 404) : streamed(open);
});
app.delete('/mcp', (context) => context.body(null, remove(headerOf(context))));

listen(createAdaptorServer({ fetch: app.fetch }));
