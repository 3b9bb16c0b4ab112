/**
 * A server says that the headers of a call are not those of its parameters: its tools are listed
 * again, for what they declare now.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Client Behavior"
 */
import { isJsonObject } from '../../protocol/classify.ts';
import type { InboundFrame, JsonObject, OutboundRequest } from '../../protocol/frames.ts';
import { OutgoingMessage } from './outgoing-message.ts';
import { Posting } from './posting.ts';
import type { PostingChannel } from './posting.ts';
import type { ToolParameters } from './tool-parameters.ts';

/** As many pages as one list may have. */
const maxPages = 100;

/**
 * Asks for all pages of the list, in the name of the call. Resolves too if there is no list: the call
 * is sent again with what is known.
 */
export async function learnTools(
  { message, signal }: Posting,
  channel: PostingChannel,
  tools: ToolParameters,
): Promise<void> {
  let cursor: unknown = undefined;
  for (let page = 1; page <= maxPages; page++) {
    // An id that no other request has: those of the host are integers.
    const id = `${message.id}/tools/${page}` as OutboundRequest['id'];
    const params = { _meta: metaOf(message.params), ...(cursor === undefined ? {} : { cursor }) };
    const frame: OutboundRequest = { jsonrpc: '2.0', id, method: 'tools/list', params };
    const result = await resultOf(frame, channel, signal);
    if (!result) return;
    tools.read(result);
    cursor = result['nextCursor'];
    if (typeof cursor !== 'string') return;
  }
}

/** The call's own, but that it wants no progress of this. */
function metaOf(params: JsonObject | undefined): JsonObject {
  const meta = isJsonObject(params?.['_meta']) ? params['_meta'] : {};
  return { ...meta, progressToken: undefined };
}

async function resultOf(
  frame: OutboundRequest,
  channel: PostingChannel,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  let result: JsonObject | undefined = undefined;
  const heard = (frames: readonly InboundFrame[]): void => {
    for (const answer of frames) {
      if (answer.kind === 'response' && answer.outcome.ok) result = answer.outcome.result;
    }
  };
  const nothing = (): void => {};
  const hearer = { taken: nothing, heard, invalid: nothing, failed: nothing, returned: nothing };
  const posting = new Posting(new OutgoingMessage(frame, JSON.stringify(frame), hearer), channel);
  const cancel = (): void => posting.cancel();
  signal.addEventListener('abort', cancel);
  void posting.send();
  await posting.ended;
  signal.removeEventListener('abort', cancel);
  return result;
}
