/**
 * A session whose client has said `initialize` and nothing else yet. It is answered without a session
 * actor: many clients that have greeted a server over HTTP never come back, and nobody says goodbye.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Initialization"; docs/maintaining/decisions/04-http-sessions-start-late.md
 */
import { acceptedInitialize } from '../../../../src/protocol/initialize-answers.ts';
import { encodeFrame } from '../../../../src/protocol/codec.ts';
import type {
  InboundFrame,
  InboundRequest,
  OutboundResponse,
} from '../../../../src/protocol/frames.ts';
import { readInitialize } from '../../../../src/protocol/initialize.ts';
import type { InitializedClient } from '../../../../src/protocol/initialize.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import type { McpServer } from '../../../../src/server/create-server.ts';
import { descriptionOf } from '../../../../src/server/session-actor.ts';

export interface InitializeAnswer {
  /** What is kept of it, for the session that begins later. */
  readonly client: InitializedClient;
  /** What it is answered with, and its text; undefined if that is to be found out. */
  readonly answer?: { readonly response: OutboundResponse; readonly body: string };
}

/** Whether a message belongs to the greeting: its client has asked for nothing by it. */
export function isHandshake(frame: InboundFrame): boolean {
  return ('method' in frame && frame.method === Method.initialize) || isInitialized(frame);
}

/** Whether a client says that it is ready. */
export function isInitialized(frame: InboundFrame): boolean {
  return frame.kind === 'notification' && frame.method === Method.initialized;
}

/** Answers an `initialize`; undefined if the session has to see it. */
export function answerInitialize(
  server: McpServer,
  frame: InboundRequest,
): InitializeAnswer | undefined {
  const reading = readInitialize(frame.params);
  const description = descriptionOf(server.sessionLogic);
  if (!reading.ok || !description) return undefined;
  if (description === 'prepared') return { client: reading.client };
  const response = acceptedInitialize(frame.id, reading.client, description);
  const unwritable: unknown[] = [];
  const body = encodeFrame(response, (_, error) => unwritable.push(error));
  if (unwritable.length > 0) return undefined;
  return { client: reading.client, answer: { response, body } };
}
