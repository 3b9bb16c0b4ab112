/** A request that says nothing, as one node hands it to another. */
import type { HandedRequest } from '../../../src/http/owner/letters.ts';

export const handedRequest: HandedRequest = {
  method: 'POST',
  target: '/mcp',
  remoteAddress: undefined,
  principal: undefined,
  admittedMs: undefined,
  head: {
    host: undefined,
    origin: undefined,
    accept: undefined,
    authorization: undefined,
    contentType: undefined,
    contentEncoding: undefined,
    sessionId: undefined,
    protocolVersion: undefined,
  },
  headers: [],
  body: '',
};
