/**
 * Answers `initialize` without starting a session actor: many HTTP clients never come back after
 * `initialize`, and none of them says goodbye.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Initialization";
 *   docs/decisions/04-http-sessions-start-late.md
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
  /** The client's description, kept for the session actor. */
  readonly client: InitializedClient;
  /** The response and its JSON; undefined if the server must be prepared first. */
  readonly answer?: { readonly response: OutboundResponse; readonly body: string };
}

/** True for `initialize` and `notifications/initialized`, which request nothing of the server. */
export function isHandshake(frame: InboundFrame): boolean {
  return ('method' in frame && frame.method === Method.initialize) || isInitialized(frame);
}

/** True for `notifications/initialized`. */
export function isInitialized(frame: InboundFrame): boolean {
  return frame.kind === 'notification' && frame.method === Method.initialized;
}

/** Answers `initialize`; undefined if the session actor must handle it. */
export function answerInitialize(
  server: McpServer,
  frame: InboundRequest,
): InitializeAnswer | undefined {
  const reading = readInitialize(frame.params);
  const description = descriptionOf(server.sessionLogic);
  if (!reading.ok || !description) return undefined;
  if (description === 'perClient') return { client: reading.client };
  const response = acceptedInitialize(frame.id, reading.client, description);
  const unwritable: unknown[] = [];
  const body = encodeFrame(response, (_, error) => unwritable.push(error));
  if (unwritable.length > 0) return undefined;
  return { client: reading.client, answer: { response, body } };
}
