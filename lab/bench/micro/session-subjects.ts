/**
 * Subjects for measuring the cost of a session: ours, those of the official SDKs, and the share of
 * XState in ours.
 */
import { sessionMachine } from '../../../src/machines/session.machine.ts';
import { createMcpServer } from '../../../src/server/create-server.ts';
import { memory } from '../../../src/transports/memory.ts';
import { defineTool } from '../../../src/server/define/tool.ts';
import type { subjectNames } from './subject-names.ts';
import { openSdk1, openSdk2 } from '../servers/in-memory.mjs';

/** Opens a session including its handshake; resolves to a function that closes it. */
export type Open = () => Promise<() => Promise<unknown>>;

const clientInfo = { name: 'micro', version: '0.0.0' };
const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
};
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };

/** Ten tools, as in a small server. */
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
    // The response is sent in a microtask.
    await Promise.resolve();
    if (session.state !== 'rootsKnown') throw new Error(`the session is ${session.state}`);
    return () => {
      const { closed } = session;
      peer.end();
      return closed;
    };
  };
}

/**
 * Measures a machine with provided implementations, of which every session used to create three.
 */
function providedMachine(): Open {
  return async () => {
    const machine = sessionMachine.provide({});
    return () => Promise.resolve(machine);
  };
}

/** Subjects by their name in the table. */
export const subjects: { readonly [name in (typeof subjectNames)[number]]: () => Open } = {
  'mcp-actors': mcpActors,
  'sdk-1': openSdk1,
  'sdk-2': openSdk2,
  'sessionMachine.provide({})': providedMachine,
};
