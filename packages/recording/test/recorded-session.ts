/** Sessions that are recorded in memory, and what their recordings give when they are played. */
import { createMcpServer } from 'mcp-actors';
import type { HandlerContext, JsonObject, McpServer } from 'mcp-actors';
import { differenceText, readRecording, record, replay } from 'mcp-actors/recording';
import type { RecordOptions, Recording, ReplayOptions } from 'mcp-actors/recording';
import { flush } from 'mcp-actors/testing';
import { expect } from 'vitest';
import { connect, tool } from '../../../test/contract/serving.ts';
import type { Serving, ServingOptions } from '../../../test/contract/serving.ts';

export interface RecordedSession extends Serving {
  /** What was recorded so far. */
  text(): string;
  /** Ends the session and gives its recording. */
  finish(): Promise<Recording>;
}

/** Starts a session that is recorded. */
export function recordedSession(
  features: Parameters<typeof createMcpServer>[0] | McpServer,
  { recording = {}, ...options }: ServingOptions & { readonly recording?: RecordOptions } = {},
): RecordedSession {
  const server = 'listen' in features ? features : createMcpServer(features);
  let text = '';
  const environment = record({ write: (more) => (text += more) }, recording);
  const serving = connect(server, { ...options, environment });
  return {
    ...serving,
    text: () => {
      environment.flush();
      return text;
    },
    finish: async () => {
      await flush();
      serving.peer.end();
      await serving.session.closed;
      await flush();
      return readRecording(text, 'recording.jsonl');
    },
  };
}

export const form = { type: 'object', properties: { name: { type: 'string' } } } as const;

/** A handler that asks a person. */
export const askName = (_: JsonObject, { elicit }: HandlerContext) =>
  elicit({ message: 'Who?', schema: form as never }).then((answer) => JSON.stringify(answer));

export const roots = tool('roots', async (_, context) => JSON.stringify(await context.roots()));

/** Plays it and fails with the first difference. */
export async function expectSame(recording: Recording, options?: ReplayOptions) {
  const result = await replay(recording, options);
  const { difference } = result;
  expect(difference && differenceText(difference, recording)).toBeUndefined();
  return result;
}

/** Its lines, the header first. */
export function linesOf(text: string): readonly { readonly [member: string]: unknown }[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly [member: string]: unknown });
}
