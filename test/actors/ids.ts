/** The ids of requests, of either direction, as tests make them up. */
import type { ClientRequestId, RequestId, ServerRequestId } from '../../src/protocol/frames.ts';

export const clientId = (id: RequestId): ClientRequestId => id as ClientRequestId;

export const serverId = (id: RequestId): ServerRequestId => id as ServerRequestId;
