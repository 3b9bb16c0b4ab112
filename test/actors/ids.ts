/** Request ids of both directions, for tests. */
import type {
  InboundRequestId,
  OutboundFrame,
  RequestId,
  OutboundRequestId,
} from '../../src/protocol/frames.ts';

export const clientId = (id: RequestId): InboundRequestId => id as InboundRequestId;

export const serverId = (id: RequestId): OutboundRequestId => id as OutboundRequestId;

/** A response to a client's request. */
export const answerOf = (id: RequestId, result: object): OutboundFrame => ({
  jsonrpc: '2.0',
  id: clientId(id),
  result,
});
