/** A client of 2026-07-28 at its end of a connection, by hand. */
import { onTestFinished } from 'vitest';
import { createMcpServer } from '../../src/index.ts';
import type { ServerDefinition } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/frames.ts';
import { converse } from '../../src/testing/index.ts';
import type { ConversationOptions } from '../../src/testing/index.ts';
import type { ScriptedPeer } from '../../src/testing/peer.ts';

export const everything = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** Starts a session of such a server. */
export function modern(definition: Partial<ServerDefinition>, options: ConversationOptions = {}) {
  const server = createMcpServer({ name: 'server', version: '1', ...definition });
  const { peer, session, facts, wire } = converse(server, options);
  onTestFinished(() => session.shutdown('the test is over'));
  return { ...modernPeer(peer), peer, session, facts, wire, server };
}

/** Speaks for the client at this end. */
export function modernPeer(peer: Pick<ScriptedPeer, 'send' | 'response'>) {
  let ids = 0;
  const send = (
    method: string,
    params: JsonObject,
    capabilities: JsonObject = everything,
    more: JsonObject = {},
  ) => {
    const id = ++ids;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': capabilities,
      ...more,
    };
    peer.send({ jsonrpc: '2.0', id, method, params: { ...params, _meta } });
    return id;
  };
  const ask = async (...request: Parameters<typeof send>): Promise<JsonObject> => {
    const answer = await peer.response(send(...request));
    return ('result' in answer ? answer.result : answer.error) as JsonObject;
  };
  return { ask, send };
}
