/** Our client with a dispatcher in place of `fetch`, as docs/client.md shows. */
import { Agent } from 'undici';
import { openWith } from './mcp-actors.mjs';

const dispatcher = new Agent();

export const open = (server, options) => openWith(server, options, { dispatcher });
