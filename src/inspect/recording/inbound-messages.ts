/** Inbound frames as lines of a recording. */
import type { InboundFrame } from '../../protocol/frames.ts';

/** The messages of a chunk; where something was no message, the frames as the reader has classified them. */
export function chunkLine(
  frames: readonly InboundFrame[],
): { readonly client: readonly unknown[] } | { readonly frames: readonly InboundFrame[] } {
  const messages = frames.map(messageOf);
  return messages.includes(undefined) ? { frames } : { client: messages };
}

/** What the client wrote; undefined where no message says the same. */
function messageOf(frame: InboundFrame): unknown {
  switch (frame.kind) {
    case 'request':
    case 'notification': {
      const { method, params } = frame;
      return {
        jsonrpc: '2.0',
        ...(frame.kind === 'request' ? { id: frame.id } : {}),
        method,
        ...(params ? { params } : {}),
      };
    }
    case 'response': {
      const { id, outcome } = frame;
      if (outcome.ok) return { jsonrpc: '2.0', id, result: outcome.result };
      return 'error' in outcome ? { jsonrpc: '2.0', id, error: outcome.error } : undefined;
    }
    case 'stray-error':
      return { jsonrpc: '2.0', error: frame.error };
    case 'batch':
      return frame.messages;
    case 'invalid':
      return undefined;
  }
}
