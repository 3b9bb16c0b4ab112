/** Streamable HTTP in the revisions with sessions. */
import type { Demands } from './demands.ts';

export const httpSessions: Demands = {
  'MCP 2025-11-25, basic/transports, "Sending Messages to the Server"': {
    'HTTP-01':
      'What is refused gets the status for its fault, and a JSON-RPC error without an id that names what was wrong.',
    'HTTP-02':
      'A body that is no message of the revision is a bad request, with its JSON-RPC error.',
    'HTTP-03':
      'Notifications and responses are accepted with 202 and no body, also as a batch of 2025-03-26.',
    'HTTP-04':
      'A request is answered with JSON if its response is all there is to say, otherwise with a stream.',
    'HTTP-05':
      'The stream of a client that knows it begins with an event that has an id, a retry time and no data.',
    'HTTP-06': 'The connection may be closed while the call goes on: the client comes back for it.',
    'HTTP-07': 'A stream ends with its response, or at once if the client has cancelled the call.',
    'HTTP-08': 'A client that leaves has not cancelled: the call goes on.',
  },
  'MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"': {
    'HTTP-09':
      'What belongs to no request goes on one GET stream, the newest that reads, and never a response.',
  },
  'MCP 2025-11-25, basic/transports, "Session Management"': {
    'HTTP-10':
      'A session is kept while it is used; idle for too long, or for another one, it ends, and what names it is 404.',
    'HTTP-11': 'A session begins with initialize, which tells its id; the id cannot be guessed.',
  },
  'MCP 2025-11-25, basic/transports, "Resumability and Redelivery"': {
    'HTTP-12':
      'Last-Event-ID repeats what its stream has said since, in order, and nothing of another one; then the stream goes on.',
  },
  'MCP 2025-11-25, basic/transports, "Protocol Version Header"': {
    'HTTP-14': 'Without the header, the revision is the negotiated one.',
  },
  'MCP 2024-11-05, basic/transports, "HTTP with SSE"': {
    'HTTP-17':
      'On request the deprecated transport is served: a session is a stream, which names where messages are posted.',
  },
  ours: {
    'HTTP-19':
      'Without sessions initialize tells no id, every POST is served by itself, and GET and DELETE are 405.',
    'HTTP-20':
      'Without sessions the revision is what the header says, else 2025-03-26; one that does not exist is 400.',
    'HTTP-21':
      'Without sessions what needs one is -32601, a call that asks its client fails and says why, and a cancellation reaches nobody.',
    'HTTP-18':
      'Connections that break anywhere, requests that come twice, streams that are left: each has its answer, and nothing is left behind.',
    'HTTP-16':
      'What a call asks its client goes on the stream of that call, and is answered by a POST.',
    'HTTP-13':
      'What is kept, and what waits for a stream, is bounded; what was dropped is told, and a lost response is an error.',
    'HTTP-15':
      'A client that does not read a stream is cut off from it, and nobody else notices; one that is gone is found.',
  },
};
