/** How HTTP carries the revision without a handshake. */
import { of } from './demands.ts';
import type { Demands } from './demands.ts';

export const httpStateless: Demands = of(
  { since: '2026-07-28' },
  {
    'MCP 2026-07-28, basic/transports/streamable-http, "Sending Messages"': {
      'HMOD-01':
        'Clients of the revision only POST: GET and DELETE are 405, a session’s header is ignored and none is made.',
      'HMOD-07':
        'A POST has one request or one notification; a notification is 202 without a body, anything else 400.',
    },
    'MCP 2026-07-28, basic/transports/streamable-http, "Server Validation"': {
      'HMOD-02':
        'A header for the revision, the method or the name that is missing, malformed or not what the body says is 400 with -32020.',
    },
    'MCP 2026-07-28, basic/transports/streamable-http, "Server Behavior for Custom Headers"': {
      'HMOD-03':
        'So is the header of a parameter that declares one; without a value there is no header.',
    },
    'MCP 2026-07-28, basic/transports/streamable-http, "Schema Extension"': {
      'HMOD-04': 'A tool with a malformed declaration of a header cannot be defined.',
    },
    'MCP 2026-07-28, basic, "_meta"': {
      'HMOD-05':
        'A missing or malformed member of the envelope, a missing capability and an unknown revision are 400.',
    },
    'MCP 2026-07-28, basic/transports/streamable-http, "Protocol Version Header"': {
      'HMOD-06': 'A method that is not offered is 404 with -32601.',
    },
    'MCP 2026-07-28, basic/transports/streamable-http, "Receiving Messages"': {
      'HMOD-08':
        'An answer is JSON, or a stream that ends with the response; nothing on its way may hold the stream back.',
    },
    'MCP 2026-07-28, basic/transports/streamable-http, "Cancellation"': {
      'HMOD-09':
        'A client that closes the connection has cancelled its request: the work stops, and nothing more is sent.',
    },
    'MCP 2026-07-28, basic/transports/streamable-http, "Security & Endpoint"': {
      'HMOD-10': 'A request from a page of another origin is 403.',
    },
  },
);
