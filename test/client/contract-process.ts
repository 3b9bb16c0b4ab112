/** A server of the connection's contract over stdio; its argument says whose: `ours` or `official`. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { serve } from 'mcp-actors/serve';
import { officialServer, ours } from './contract-servers.ts';

if (process.argv[2] === 'ours') await serve(ours);
else await officialServer().connect(new StdioServerTransport());
