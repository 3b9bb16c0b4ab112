/**
 * A session whose client has said `initialize` and nothing else yet. It is answered without a session
 * actor: many clients that have greeted a server over HTTP never come back, and nobody says goodbye.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Initialization"; docs/decisions/0044
 */
import { acceptedInitialize } from '../../protocol/initialize-answers.ts';
import type { Dialect } from '../../protocol/dialects/dialect.ts';
import { encodeFrame } from '../../protocol/codec.ts';
import type { InitializeReceived } from '../../machines/session-ports.ts';
import type { InboundFrame } from '../../protocol/frames.ts';
import { readInitialize } from '../../protocol/initialize.ts';
import { Method } from '../../protocol/methods.ts';
import type { ListenOptions, McpServer } from '../../server/create-server.ts';
import { descriptionOf } from '../../server/session-actor.ts';

export interface Greeting {
  readonly dialect: Dialect;
  /** What it is answered with. */
  readonly body: string;
  /**
   * For the session that begins later: it answers the same, and nobody hears it. What its client has
   * sent is not kept, only what was read of it.
   */
  readonly received: InitializeReceived;
}

/** Whether a message belongs to the greeting: its client has asked for nothing by it. */
export function isGreeting(frame: InboundFrame): boolean {
  const method = 'method' in frame ? frame.method : undefined;
  return method === Method.initialize || method === Method.initialized;
}

/** Of requests that were answered before the session began. */
const answered = { idScope: 'session' } as const;

/** Answers an `initialize`; undefined for other messages, and if the session has to see it. */
export function greet(server: McpServer, frame: InboundFrame): Greeting | undefined {
  if (frame.kind !== 'request' || frame.method !== Method.initialize) return undefined;
  const reading = readInitialize(frame.params);
  const description = descriptionOf(server.sessionLogic);
  if (!reading.ok || !description) return undefined;
  const response = acceptedInitialize(frame.id, reading.client, description);
  const unwritable: unknown[] = [];
  const body = encodeFrame(response, (_, error) => unwritable.push(error));
  if (unwritable.length > 0) return undefined;
  const request = { id: frame.id, origin: answered };
  const received = { type: 'initialize.received', request, reading } as const;
  return { dialect: reading.client.dialect, body, received };
}

/** Whether anyone wants to see a session from its beginning on. */
export function isWatched(listening: ListenOptions): boolean {
  const { environment, inspect, onEmitted, onRootsUpdated, report, signal, watchers } = listening;
  return Boolean(
    environment ||
    inspect ||
    onEmitted ||
    onRootsUpdated ||
    signal ||
    watchers?.length ||
    (report && (report.threshold ?? 'debug') === 'debug'),
  );
}
