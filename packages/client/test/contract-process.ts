/** A server of the connection's contract over stdio; its argument says whose, and of which eras. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { serve } from 'mcp-actors/serve';
import { firstOfficial, ours, secondOfficial } from './contract-servers.ts';

const shared = { isGrown: false };

const started: { readonly [whose: string]: () => unknown } = {
  ours: () => serve(ours()),
  'official 1': () => firstOfficial().connect(new StdioServerTransport()),
  'official 2': () => serveStdio(() => secondOfficial(shared)),
  'official 2, modern only': () => serveStdio(() => secondOfficial(shared), { legacy: 'reject' }),
};

await started[process.argv[2] ?? '']?.();
