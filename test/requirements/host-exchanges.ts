/** What a host says to a server, in which order, and with what. */
import type { Demands } from './demands.ts';

export const hostExchanges: Demands = {
  'MCP 2025-11-25, basic/lifecycle, "Initialization"': {
    'HOST-01':
      'A server of the legacy era is first sent initialize: the latest revision that the host speaks, what it is capable of, and who it is.',
    'HOST-02':
      'Nothing else is asked until initialize is answered, and notifications/initialized goes before what is asked then.',
  },
  'MCP 2025-11-25, basic/lifecycle, "Version Negotiation"': {
    'HOST-03': 'A server that answers with a revision that the host does not speak is left.',
  },
  'MCP 2025-11-25, basic/transports, "Sending Messages to the Server"': {
    'HOST-04':
      'Over HTTP each message is a POST of its own, which accepts JSON and streams of events.',
    'HOST-05': 'A request is cancelled by a message; the end of its stream cancels nothing.',
  },
  'MCP 2025-11-25, basic/transports, "Resumability and Redelivery"': {
    'HOST-06': 'A stream that was cut is asked for by a GET, with the id of its last event.',
    'HOST-22': 'A stream is asked for again only after as long as its server says in retry.',
  },
  'MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"': {
    'HOST-23': 'A GET accepts streams of events.',
    'HOST-25': 'A message of the server is heard on whichever stream it comes.',
  },
  'MCP 2025-11-25, basic/utilities/cancellation, "Behavior Requirements"': {
    'HOST-21': 'The handshake is never cancelled on the wire, though nobody may wait for it.',
  },
  'MCP 2025-11-25, basic/transports, "Session Management"': {
    'HOST-07':
      'The id of the session and the revision that was negotiated go with each later request.',
    'HOST-08':
      'A session that the server has forgotten is followed by a new one, without the old id.',
    'HOST-09': 'A session that is not needed any more is ended by a DELETE.',
  },
  'MCP 2026-07-28, basic/index, "_meta"': {
    'HOST-10':
      'Each request of the modern era says its revision and what the host is capable of, in _meta.',
  },
  'MCP 2026-07-28, basic/transports/stdio, "Backward Compatibility"': {
    'HOST-11':
      'A server whose era is not known is asked server/discover before anything else; no error but one of the modern era shows that era, and silence shows the legacy one.',
  },
  'MCP 2026-07-28, basic/versioning': {
    'HOST-12': 'What was found out of the era of a server is remembered.',
    'HOST-13': 'If there is no revision in common, the host is told, and nothing is tried again.',
  },
  'MCP 2026-07-28, basic/transports/streamable-http, "Standard MCP Request Headers"': {
    'HOST-14':
      'The headers of a request repeat its method, its name and the declared parameters, encoded if they are not plain.',
    'HOST-15': 'A tool whose declared headers are none is left out, and that is told.',
    'HOST-16':
      'A call whose headers the server misses is sent again, once the tools have been listed.',
  },
  'MCP 2026-07-28, basic/transports/streamable-http, "Sending Messages"': {
    'HOST-17': 'A server of the modern era is never sent a response.',
  },
  'MCP 2026-07-28, changelog': {
    'HOST-24':
      'The stream of a request of the modern era is not resumed; what is sent again has another id.',
  },
  'MCP 2026-07-28, basic/index, "Error Responses"': {
    'HOST-26':
      'An error whose code the specification gives no meaning is the caller’s, untouched, and changes nothing else.',
  },
  'MCP 2025-11-25, server/tools, "Data Types"': {
    'HOST-27': 'What tools say of themselves is not trusted, unless the host asks for that.',
  },
  'MCP 2026-07-28, basic/patterns/cancellation': {
    'HOST-18': 'A request in flight is cancelled by its id, and a late answer to it is dropped.',
    'HOST-19':
      'Each request has a time of its own, and a longest one that no progress begins anew.',
  },
  'MCP 2026-07-28, basic/patterns/progress': {
    'HOST-20': 'No id goes out twice, and a request is its own progress token.',
  },
};
