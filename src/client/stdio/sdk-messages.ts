/** What a server has sent, as the messages that a client of the official SDK's takes. */
import { classifyMessage } from '../../protocol/classify.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type {
  InboundFrame,
  InboundNotification,
  InboundRequest,
  InboundResponse,
  RequestId,
} from '../../protocol/frames.ts';

export interface SdkMessages {
  readonly messages: readonly object[];
  /** What is no message, as sentences. */
  readonly faults: readonly string[];
}

/**
 * Nothing is left out: what cannot be a message is a fault. An answer that cannot be read is an
 * error to the request that it names, so that nobody waits for another.
 */
export function messagesOf(frame: InboundFrame): SdkMessages {
  switch (frame.kind) {
    case 'request':
      return one({ jsonrpc: '2.0', id: frame.id, ...called(frame) });
    case 'notification':
      return one({ jsonrpc: '2.0', ...called(frame) });
    case 'response':
      return answered(frame);
    case 'batch': {
      const members = frame.messages.map((message) => messagesOf(classifyMessage(message)));
      return {
        messages: members.flatMap(({ messages }) => messages),
        faults: members.flatMap(({ faults }) => faults),
      };
    }
    case 'stray-error':
      return none(`The server could not read a message: ${frame.error.message}`);
    case 'invalid': {
      const fault = `The server sent what is no message: ${frame.error.message}`;
      return frame.answers === undefined ? none(fault) : unreadable(frame.answers, fault);
    }
  }
}

function called({ method, params }: InboundRequest | InboundNotification): object {
  return params === undefined ? { method } : { method, params };
}

function answered({ id, outcome }: InboundResponse): SdkMessages {
  if (outcome.ok) return one({ jsonrpc: '2.0', id, result: outcome.result });
  if ('error' in outcome) return one({ jsonrpc: '2.0', id, error: outcome.error });
  const reason = 'malformed' in outcome ? outcome.malformed : outcome.tooLong;
  return unreadable(id, `The server's answer cannot be read: ${reason}`);
}

function unreadable(id: RequestId, fault: string): SdkMessages {
  const error = { code: ErrorCode.internalError, message: fault };
  return { messages: [{ jsonrpc: '2.0', id, error }], faults: [fault] };
}

const one = (message: object): SdkMessages => ({ messages: [message], faults: [] });
const none = (fault: string): SdkMessages => ({ messages: [], faults: [fault] });
