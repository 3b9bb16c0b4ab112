// In Express. A body parser may come before it: the handler takes `request.body` then.
import express from 'express';
import { nodeHandler } from 'mcp-actors/http/node';
import { greeter } from './greeter.ts';

export const app = express();
app.use(express.json({ limit: '16mb' }));
app.all('/mcp', nodeHandler(greeter));
