/** A client of 2026-07-28 at its end of a connection, by hand. What it is sent is checked against the official schemas. */
import { expect, onTestFinished } from 'vitest';
import { createMcpServer } from '../../src/index.ts';
import type { ServerDefinition } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/frames.ts';
import {
  scriptedConversation,
  enveloped,
  isRequestFrame,
} from '../../packages/testing/src/index.ts';
import type { ConversationOptions, ScriptedPeer } from '../../packages/testing/src/index.ts';
import { officialSchemas } from '../contract/official-schemas.ts';

export const everything = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** Starts a session of such a server. */
export function modern(definition: Partial<ServerDefinition>, options: ConversationOptions = {}) {
  const server = createMcpServer({ name: 'server', version: '1', ...definition });
  const { peer, session, facts, wire } = scriptedConversation(server, {
    check: officialSchemas,
    ...options,
  });
  onTestFinished(() => {
    if (session.actor.getSnapshot().status === 'active') session.shutdown('the test is over');
    expect(peer.violations).toEqual([]);
    // In this revision a server sends no requests.
    expect(peer.received.filter(isRequestFrame)).toEqual([]);
  });
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
    peer.send(enveloped(id, method, { ...params, _meta: more }, { capabilities }));
    return id;
  };
  const ask = async (...request: Parameters<typeof send>): Promise<JsonObject> => {
    const answer = await peer.response(send(...request));
    return ('result' in answer ? answer.result : answer.error) as JsonObject;
  };
  return { ask, send };
}
