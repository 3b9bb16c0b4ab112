/** What is opened and closed to learn what a session costs: ours, those of the official SDKs, and what XState's own part of ours comes to. */
import { sessionMachine } from '../../../src/machines/session.machine.ts';
import { createMcpServer } from '../../../src/server/create-server.ts';
import { memory } from '../../../src/transports/memory.ts';
import { defineTool } from '../../../src/server/define/tool.ts';
import type { subjectNames } from './subject-names.ts';
import { openSdk1, openSdk2 } from '../servers/in-memory.mjs';

/** Opens one, past its handshake; gives what closes it. */
export type Open = () => Promise<() => Promise<unknown>>;

const clientInfo = { name: 'micro', version: '0.0.0' };
const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
};
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };

/** Ten tools, as a small server has them. */
function mcpActors(): Open {
  const server = createMcpServer({
    name: 'micro',
    version: '0.0.0',
    tools: Array.from({ length: 10 }, (_, at) =>
      defineTool({
        name: `echo-${at}`,
        description: 'Gives the text back.',
        inputSchema: {
          type: 'object',
          properties: { text: { type: 'string' } },
          required: ['text'],
        },
        handler: ({ text }) => text,
      }),
    ),
  });
  return async () => {
    const { transport, peer } = memory();
    const session = server.listen(transport);
    peer.send(initialize, initialized);
    // The answer goes out in a microtask.
    await Promise.resolve();
    if (session.state !== 'rootsKnown') throw new Error(`the session is ${session.state}`);
    return () => {
      const { closed } = session;
      peer.end();
      return closed;
    };
  };
}

/** Opened here is a machine with other implementations, which is what every session made for itself three times. */
function providedMachine(): Open {
  return async () => {
    const machine = sessionMachine.provide({});
    return () => Promise.resolve(machine);
  };
}

/** By the name that the table has. */
export const subjects: { readonly [name in (typeof subjectNames)[number]]: () => Open } = {
  'mcp-actors': mcpActors,
  'sdk-1': openSdk1,
  'sdk-2': openSdk2,
  'sessionMachine.provide({})': providedMachine,
};
