// Mounted in Express. A body parser may run first: the handler then uses `request.body`.
import express from 'express';
import { nodeHandler } from 'mcp-actors/http/node';
import { greeter } from './greeter.ts';

export const app = express();
app.use(express.json({ limit: '16mb' }));
app.all('/mcp', nodeHandler(greeter));
