/** Messages, lifecycle, transports, cancellation, progress, bounds. */
import { of } from './demands.ts';
import type { Demands } from './demands.ts';

const rows: Demands = {
  'MCP 2025-11-25, basic, "Requests"': {
    'BASE-01':
      'A request id is a string or an integer, never null; what cannot be echoed without loss is refused.',
    'BASE-02': 'The two directions are separate id spaces: equal ids may be in flight both ways.',
    'BASE-07': 'A request whose id is in flight is refused with -32600, and the first goes on.',
  },
  'MCP 2025-11-25, basic, "Responses"': {
    'BASE-03': '1 and "1" are different ids, also 0, "0" and "".',
    'BASE-04': 'A response echoes the id; an error for what had no readable id has none.',
    'BASE-09': 'A response is never answered: neither an unknown one nor an error without an id.',
  },
  'MCP 2025-11-25, basic, "Notifications"': {
    'BASE-05': 'A notification is never answered, whatever its method or its params.',
  },
  'MCP 2025-11-25, basic, "_meta"': {
    'BASE-12': '_meta may hold any key with any value: what means nothing here changes nothing.',
    'BASE-13': {
      text: '_meta that is no object, or whose reserved keys hold what they should not, harms nothing.',
      over: 'bytes',
    },
  },
  'JSON-RPC 2.0, "Error object"': {
    'BASE-06':
      'Unknown or undeclared methods are -32601, bad params -32602, bugs -32603 without details, but for those of tools: see TOOLS-03.',
    'STDIO-03': {
      text: 'Bad JSON and bad UTF-8 are -32700, and the connection lives.',
      over: 'bytes',
    },
    'STDIO-04': {
      text: 'JSON that is no message is -32600, with the id where one can be read, and the connection lives.',
      over: 'bytes',
    },
  },
  'JSON-RPC 2.0, "Response object"': {
    'BASE-08': 'Every request gets exactly one response, unless it was cancelled.',
  },
  'MCP 2025-11-25, basic, "Error Responses"': {
    'BASE-11': 'An error has an integer code and a message, whatever a handler made it of.',
  },
  'MCP 2025-11-25, basic/utilities/cancellation, "Implementation Notes"': {
    'CANCEL-10': 'The reason of a cancellation is the reason of the handler’s signal, for its log.',
  },
  'MCP 2025-11-25, schema': {
    'BASE-10': {
      text: 'Every frame that leaves a session conforms to the official schema.',
      apart: '`serve` checks every frame of every test with it; this is the test of the check.',
    },
  },
  'MCP 2025-11-25, basic/lifecycle, "Version Negotiation"': {
    'LIFE-01': {
      text: 'A requested version that the server speaks is the negotiated one.',
      by: 'both',
    },
    'LIFE-02': {
      text: 'An unknown version is answered with the latest, never echoed.',
      since: '2025-11-25',
    },
  },
  'MCP 2025-11-25, basic/lifecycle, "Initialization"': {
    'LIFE-03': {
      text: 'A malformed initialize is -32602 with the path of the fault, and a right one may follow.',
      by: 'both',
    },
    'LIFE-04': {
      text: 'Before initialize only ping is served; everything else is -32600.',
      by: 'both',
    },
    'LIFE-05': {
      text: 'Requests after the initialize reply and before initialized are served.',
      by: 'both',
    },
    'LIFE-06': {
      text: 'No request is sent to the client before initialized, even where a handler asked for one.',
      by: 'both',
    },
  },
  ours: {
    'LIFE-07': 'An identical second initialize before operation gets the same answer.',
    'LIFE-08':
      'Another second initialize, or one in operation, is -32600, and what the first said stands.',
    'LIFE-09': {
      text: 'initialize, initialized and a call in one chunk work, in that order.',
      by: 'both',
    },
    'LIFE-10': 'initialized before initialize, or repeated, changes nothing.',
    'LIFE-16': {
      text: 'Draining has a deadline: a handler that hangs gets its signal aborted and its request an error.',
      over: 'bytes',
    },
    'LIFE-17': {
      text: 'While draining, ping is answered and new requests are refused with a code of their own.',
      over: 'bytes',
    },
    'LIFE-18': {
      text: 'Broken output ends the session quietly and once, and aborts what runs.',
      over: 'bytes',
    },
    'LIFE-19': {
      text: 'A shutdown that is repeated, or comes while draining, changes nothing.',
      over: 'bytes',
    },
    'CANCEL-04':
      'An id is free again once its request was cancelled, and the first handler cannot answer for the second.',
    'CANCEL-06':
      'A cancellation names the client’s own request first, and one of ours only where it has none with that exact id: REMOTE_CANCELLED.',
    'CANCEL-09': 'Once a request has ended, nothing is asked or told in its name.',
    'CORR-01': 'Our ids are unguessable strings that never repeat.',
    'CORR-02': 'Answers out of order resolve the right caller; id type and value are exact.',
    'CORR-03': 'Late, duplicate and unknown responses are told apart and change nothing.',
    'CORR-04':
      'So many requests to the client may be pending; one more is LIMIT_EXCEEDED and is not sent.',
    'CORR-05': {
      text: 'The end of the session settles every pending request with TRANSPORT_CLOSED and refuses new ones.',
      over: 'bytes',
    },
    'CORR-06': { text: 'A malformed response fails its request at once.', over: 'bytes' },
    'CORR-07': 'An error answer reaches the caller with its code, message and data.',
    'CORR-08': 'A request whose params JSON cannot hold fails alone and is not sent.',
    'CORR-09':
      'Aborting the signal of one request cancels that request alone, and tells the client.',
    'STDIO-02': { text: 'CRLF, a byte order mark and blank lines are accepted.', over: 'bytes' },
    'STDIO-05': {
      text: 'A line that is too long, or nests too deep, is refused with a clear error, and the connection lives.',
      over: 'bytes',
    },
    'STDIO-06': { text: 'A key __proto__ is harmless.', over: 'bytes' },
    'STDIO-08': { text: 'The last line needs no line feed.', over: 'bytes' },
    'FLOW-01': 'So many handlers run at once; others wait and start in order.',
    'FLOW-02':
      'Past the queue a request is refused with a clear, retryable error, and is served again after.',
    'FLOW-03': 'Responses, cancellations and ping pass every cap.',
    'FLOW-04': 'A handler that throws, rejects, hangs or gives garbage harms only its own request.',
    'FLOW-05': 'A result that JSON cannot hold is -32603 for its own request.',
    'FLOW-06': 'Answers leave in the order in which handlers finish.',
    'FLOW-07': {
      text: 'A client that does not read stops new work, then, past a read-ahead, the reading of its input; nothing is lost when it reads again.',
      over: 'bytes',
    },
  },
  'MCP 2025-11-25, basic/lifecycle, "Capability Negotiation"': {
    'LIFE-11': {
      text: 'The server declares what it offers and nothing else; what it did not declare is -32601.',
      by: 'both',
    },
    'LIFE-12': {
      text: 'The client is asked only for what it declared; otherwise nothing is sent and the caller gets CAPABILITY_MISSING.',
      by: 'revision',
    },
  },
  'MCP 2025-11-25, basic/lifecycle, "Timeouts"': {
    'LIFE-13':
      'Every request to the client has a timeout; on expiry it is cancelled on the wire and the caller gets REQUEST_TIMEOUT.',
    'LIFE-14': 'Progress starts the timeout anew; a hard maximum stays.',
  },
  'MCP 2025-11-25, basic/lifecycle, "Shutdown"': {
    'LIFE-15': {
      text: 'The end of the input ends the session: our requests settle, handlers may finish and are answered, output is flushed.',
      over: 'bytes',
    },
  },
  'MCP 2025-11-25, basic/utilities/cancellation': {
    'CANCEL-01': 'Cancelling a request in flight aborts its signal, and no answer is sent.',
    'CANCEL-02': 'The id is matched in type and value, 0 and the empty string included.',
    'CANCEL-03': 'A cancellation of something unknown or finished, or a malformed one, is ignored.',
    'CANCEL-05': 'Cancelling a request cancels what was asked of the client on its behalf.',
    'CANCEL-07': 'initialize cannot be cancelled.',
    'CANCEL-08': 'A request that waits for its turn can be cancelled: it never starts.',
  },
  'MCP 2025-11-25, basic/utilities/progress': {
    'PROGRESS-01':
      'Progress is sent only where the client gave a token, with that token, strictly increasing.',
    'PROGRESS-02': 'Progress stops when the request has ended.',
    'PROGRESS-04': 'Progress for a token that is none of ours is dropped.',
    'PROGRESS-06':
      'Our progress tokens are unique among the requests in flight, and each tells the caller whose it is.',
    'PROGRESS-07': 'Progress and its total may be floating point, in both directions.',
  },
  'MCP 2025-03-26, basic/utilities/progress': {
    'PROGRESS-05': {
      text: 'Progress has a message from this revision on; older clients are sent none.',
      by: 'both',
    },
  },
  'MCP 2025-11-25, basic/utilities/ping': {
    'PING-01': 'A ping is answered at once with an empty result, in every state of a session.',
    'PING-02': 'A ping of ours has no params, and any answer to it will do.',
    'PING-03': 'A ping that is not answered in time fails with REQUEST_TIMEOUT, and is reported.',
    'PING-04': 'A ping passes the cap of pending requests.',
    'PING-05':
      'A quiet client is pinged; so many silences in a row end the session as unresponsive, and one sign of life begins anew.',
    'PING-06':
      'How often is an option; a session that wants no keepalive, and a client that is not quiet, are sent no ping.',
  },
  'MCP 2025-11-25, basic/utilities/progress, "Behavior Requirements"': {
    'PROGRESS-03': 'Progress is rate-limited.',
  },
  'MCP 2025-11-25, basic/transports, "Sending Messages to the Server"': {
    'STREAM-01': {
      text: 'What a handler sends while it serves a request is marked as that request’s, and goes on its stream.',
      apart: 'Transports with a stream for each request alone: ours have one stream.',
    },
  },
  'MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"': {
    'STREAM-02': {
      text: 'What belongs to no request of the client’s goes on no request’s stream.',
      apart: 'Transports with a stream for each request alone: ours have one stream.',
    },
  },
  'MCP 2025-11-25, basic/transports, "Security Warning"': {
    'STREAM-03': {
      text: 'A server on loopback refuses a foreign Host or Origin with 403.',
      apart: 'Streamable HTTP, which the official server transport does here.',
    },
  },
  'MCP 2025-11-25, basic/transports, "Session Management"': {
    'STREAM-04': {
      text: 'A session has an id of its own; an unknown or ended one is 404.',
      apart: 'Streamable HTTP, which the official server transport does here.',
    },
  },
  'MCP 2025-11-25, basic/transports, "Custom Transports"': {
    'STREAM-05': {
      text: 'Whatever carries messages both ways carries a session: the official clients work over each transport.',
      apart:
        'The official clients choose the revision: both are run over each transport, both ways.',
    },
  },
  'MCP 2025-11-25, basic/transports, "stdio"': {
    'STDIO-01': {
      text: 'Messages are lines of UTF-8 JSON, however the bytes are cut into chunks.',
      over: 'bytes',
    },
    'STDIO-07': {
      text: 'What is written is one JSON text per line, with no line feed inside.',
      over: 'bytes',
    },
    'STDIO-09': {
      text: 'Nothing but messages is on stdout, whatever a dependency prints.',
      apart: 'A real process has a stdout; what is in it is no matter of the revision.',
    },
  },
  'MCP 2025-03-26, basic, "Batching"': {
    'BATCH-01': {
      text: 'A batch is received and its answers leave as one batch.',
      since: '2025-03-26',
      before: '2025-06-18',
      over: 'bytes',
      by: 'both',
    },
    'BATCH-02': {
      text: 'A batch of notifications and responses alone is not answered.',
      since: '2025-03-26',
      before: '2025-06-18',
      over: 'bytes',
      by: 'both',
    },
    'BATCH-03': {
      text: 'A cancelled member has no answer in the batch; a batch of cancelled members has none at all.',
      since: '2025-03-26',
      before: '2025-06-18',
      over: 'bytes',
      by: 'both',
    },
    'BATCH-04': {
      text: 'initialize must not be part of a batch.',
      since: '2025-03-26',
      before: '2025-06-18',
      over: 'bytes',
      by: 'both',
    },
    'BATCH-07': {
      text: 'A notification means in a batch what it means alone.',
      since: '2025-03-26',
      before: '2025-06-18',
      over: 'bytes',
      by: 'both',
    },
  },
  'JSON-RPC 2.0, "Batch"': {
    'BATCH-05': {
      text: 'An empty batch is one error; a broken member is an error of its own.',
      since: '2025-03-26',
      before: '2025-06-18',
      over: 'bytes',
      by: 'both',
    },
  },
  'MCP 2025-06-18, changelog': {
    'BATCH-06': {
      text: 'Arrays are -32600 in every other revision and before initialize.',
      over: 'bytes',
      by: 'both',
    },
  },
};

/** Most of it is about how messages come, go and end. */
export const base: Demands = of({ by: 'transport' }, rows);
