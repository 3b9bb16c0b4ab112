/** Mounted in Hono, on any runtime. */
import { Hono } from 'hono';
import { httpHandler } from 'mcp-actors/http';
import { greeter } from './greeter.ts';

const mcp = httpHandler(greeter);

export const app = new Hono();
app.all('/mcp', (c) => mcp(c.req.raw));
