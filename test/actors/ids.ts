/** The ids of requests, of either direction, as tests make them up. */
import type {
  ClientRequestId,
  OutboundFrame,
  RequestId,
  ServerRequestId,
} from '../../src/protocol/frames.ts';

export const clientId = (id: RequestId): ClientRequestId => id as ClientRequestId;

export const serverId = (id: RequestId): ServerRequestId => id as ServerRequestId;

/** The answer to a client's request. */
export const answerOf = (id: RequestId, result: object): OutboundFrame => ({
  jsonrpc: '2.0',
  id: clientId(id),
  result,
});
