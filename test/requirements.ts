/**
 * What the tests hold this project to, for a session of the revisions 2024-11-05 to 2025-11-25: one row per demand.
 * A test cites a row in its name, `test('refuses … [LIFE-04]')`; `requirements.test.ts` checks that every row is cited and every citation known.
 */
export interface Requirement {
  readonly id: string;
  /** The page of the specification; "ours" is a decision where the specification leaves one open. */
  readonly source: string;
  readonly text: string;
}

/** Demands by their source, by their id. */
const demands: { readonly [source: string]: { readonly [id: string]: string } } = {
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
  'JSON-RPC 2.0, "Error object"': {
    'BASE-06':
      'Unknown or undeclared methods are -32601, bad params -32602, bugs -32603 without details.',
    'STDIO-03': 'Bad JSON and bad UTF-8 are -32700, and the connection lives.',
    'STDIO-04':
      'JSON that is no message is -32600, with the id where one can be read, and the connection lives.',
  },
  'JSON-RPC 2.0, "Response object"': {
    'BASE-08': 'Every request gets exactly one response, unless it was cancelled.',
  },
  'MCP 2025-11-25, schema': {
    'BASE-10': 'Every frame that leaves a session conforms to the official schema.',
  },
  'MCP 2025-11-25, basic/lifecycle, "Version Negotiation"': {
    'LIFE-01': 'A requested version that the server speaks is the negotiated one.',
    'LIFE-02': 'An unknown version is answered with the latest, never echoed.',
  },
  'MCP 2025-11-25, basic/lifecycle, "Initialization"': {
    'LIFE-03':
      'A malformed initialize is -32602 with the path of the fault, and a right one may follow.',
    'LIFE-04': 'Before initialize only ping is served; everything else is -32600.',
    'LIFE-05': 'Requests after the initialize reply and before initialized are served.',
    'LIFE-06':
      'No request is sent to the client before initialized, even where a handler asked for one.',
  },
  ours: {
    'LIFE-07': 'An identical second initialize before operation gets the same answer.',
    'LIFE-08':
      'Another second initialize, or one in operation, is -32600, and what the first said stands.',
    'LIFE-09': 'initialize, initialized and a call in one chunk work, in that order.',
    'LIFE-10': 'initialized before initialize, or repeated, changes nothing.',
    'LIFE-16':
      'Draining has a deadline: a handler that hangs gets its signal aborted and its request an error.',
    'LIFE-17':
      'While draining, ping is answered and new requests are refused with a code of their own.',
    'LIFE-18': 'Broken output ends the session quietly and once, and aborts what runs.',
    'LIFE-19': 'A shutdown that is repeated, or comes while draining, changes nothing.',
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
    'CORR-05':
      'The end of the session settles every pending request with TRANSPORT_CLOSED and refuses new ones.',
    'CORR-06': 'A malformed response fails its request at once.',
    'CORR-07': 'An error answer reaches the caller with its code, message and data.',
    'CORR-08': 'A request whose params JSON cannot hold fails alone and is not sent.',
    'CORR-09':
      'Aborting the signal of one request cancels that request alone, and tells the client.',
    'ROOTS-04': 'list_changed from a client without roots, or before initialized, asks nothing.',
    'ROOTS-05':
      'One query is in flight; changes meanwhile cost exactly one more, and the last answer wins.',
    'ROOTS-06': 'A thousand changes in a row leave at most one query in flight and the last roots.',
    'ROOTS-07': 'An older answer never overwrites a newer one.',
    'ROOTS-08':
      'A client that never stops changing its roots starves nobody: an overtaken answer is published as not settled after a bounded number.',
    'ROOTS-09':
      'An unanswered query times out, is cancelled on the wire, and is asked again at the next change or after a while.',
    'ROOTS-13':
      'A malformed result is a failure; a malformed entry harms only itself, with a reason.',
    'ROOTS-15': 'An empty list clears what was known.',
    'ROOTS-16':
      'Tools that need no roots are never held up; one that needs them waits at most the roots timeout.',
    'ROOTS-17': 'Ten thousand roots are handled.',
    'ROOTS-19':
      'The declared list and its resolution are published together; who resolves an overtaken list is told so.',
    'STDIO-02': 'CRLF, a byte order mark and blank lines are accepted.',
    'STDIO-05':
      'A line that is too long, or nests too deep, is refused with a clear error, and the connection lives.',
    'STDIO-06': 'A key __proto__ is harmless.',
    'STDIO-08': 'The last line needs no line feed.',
    'FLOW-01': 'So many handlers run at once; others wait and start in order.',
    'FLOW-02':
      'Past the queue a request is refused with a clear, retryable error, and is served again after.',
    'FLOW-03': 'Responses, cancellations and ping pass every cap.',
    'FLOW-04': 'A handler that throws, rejects, hangs or gives garbage harms only its own request.',
    'FLOW-05': 'A result that JSON cannot hold is -32603 for its own request.',
    'FLOW-06': 'Answers leave in the order in which handlers finish.',
    'FLOW-07':
      'A client that does not read stops new work, then, past a read-ahead, the reading of its input; nothing is lost when it reads again.',
  },
  'MCP 2025-11-25, basic/lifecycle, "Capability Negotiation"': {
    'LIFE-11':
      'The server declares what it offers and nothing else; what it did not declare is -32601.',
    'LIFE-12':
      'The client is asked only for what it declared; otherwise nothing is sent and the caller gets CAPABILITY_MISSING.',
  },
  'MCP 2025-11-25, basic/lifecycle, "Timeouts"': {
    'LIFE-13':
      'Every request to the client has a timeout; on expiry it is cancelled on the wire and the caller gets REQUEST_TIMEOUT.',
    'LIFE-14': 'Progress starts the timeout anew; a hard maximum stays.',
  },
  'MCP 2025-11-25, basic/lifecycle, "Shutdown"': {
    'LIFE-15':
      'The end of the input ends the session: our requests settle, handlers may finish and are answered, output is flushed.',
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
  },
  'MCP 2025-11-25, basic/utilities/progress, "Behavior Requirements"': {
    'PROGRESS-03': 'Progress is rate-limited.',
  },
  'MCP 2025-11-25, client/roots, "Capabilities"': {
    'ROOTS-01': 'roots/list is sent only where roots was declared; roots: {} is enough.',
  },
  'MCP 2025-11-25, client/roots': {
    'ROOTS-02': 'The first query follows initialized, and has no params.',
  },
  'MCP 2025-11-25, client/roots, "Root List Changes"': {
    'ROOTS-03': 'list_changed asks again, also where listChanged was not declared.',
  },
  'MCP 2025-11-25, client/roots, "Error Handling"': {
    'ROOTS-10': '-32601 means unsupported for good.',
    'ROOTS-11': 'Any other error is a failure that keeps the roots known before.',
    'ROOTS-12': 'Unknown, empty, unsupported, failed and timed out are different outcomes.',
  },
  'MCP 2025-11-25, client/roots, "Data Types"': {
    'ROOTS-20':
      'A file: URI becomes a path in the forms that clients send: percent-encoding, localhost, drive letters, UNC, trailing slashes.',
    'ROOTS-14':
      'A URI that is not file: and a repeated one are skipped with a reason; order is kept; a name of the wrong type is dropped.',
    'ROOTS-18': 'Unknown members and nextCursor are tolerated.',
  },
  'MCP 2025-11-25, basic/transports, "stdio"': {
    'STDIO-01': 'Messages are lines of UTF-8 JSON, however the bytes are cut into chunks.',
    'STDIO-07': 'What is written is one JSON text per line, with no line feed inside.',
    'STDIO-09': 'Nothing but messages is on stdout, whatever a dependency prints.',
  },
  'MCP 2025-03-26, basic, "Batching"': {
    'BATCH-01': 'A batch is received and its answers leave as one batch.',
    'BATCH-02': 'A batch of notifications and responses alone is not answered.',
    'BATCH-03':
      'A cancelled member has no answer in the batch; a batch of cancelled members has none at all.',
    'BATCH-04': 'initialize must not be part of a batch.',
    'BATCH-07': 'A notification means in a batch what it means alone.',
  },
  'JSON-RPC 2.0, "Batch"': {
    'BATCH-05': 'An empty batch is one error; a broken member is an error of its own.',
  },
  'MCP 2025-06-18, changelog': {
    'BATCH-06': 'Arrays are -32600 in every other revision and before initialize.',
  },
  'MCP 2025-11-25, server/tools, "Error Handling"': {
    'TOOLS-01': 'An unknown tool or a malformed call is -32602.',
    'TOOLS-02':
      'Arguments that fail the schema are a result with isError since 2025-11-25, -32602 before.',
    'TOOLS-03': 'A failure that a model may recover from is a result with isError.',
  },
  'MCP 2025-11-25, server/tools, "Structured Content"': {
    'TOOLS-04':
      'structuredContent conforms to outputSchema and its text is sent too; older revisions get the text alone.',
  },
  'MCP 2025-11-25, server/tools, "Tool"': {
    'TOOLS-05': 'A listed tool has only what its revision knows.',
  },
  'MCP 2025-11-25, schema, "Tool"': {
    'SCHEMA-01':
      'inputSchema and outputSchema describe objects; a definition with another schema is refused at once.',
  },
  'OpenTelemetry semantic conventions for MCP, "Server"': {
    'OTEL-01':
      'Each request that runs a handler is a server span "{method} {tool or prompt}" with the attributes of the conventions.',
    'OTEL-03':
      'error.type is the code of the error that the client gets, tool_error for a result with isError, and the status is an error then.',
  },
  'OpenTelemetry semantic conventions for MCP, "Context propagation"': {
    'OTEL-02':
      'The trace context in params._meta is the parent; the context around it is linked then; the span is active while the handler runs.',
  },
  'OpenTelemetry semantic conventions for MCP, "Metrics"': {
    'OTEL-04':
      'mcp.server.operation.duration is recorded in seconds, with attributes of low cardinality.',
  },
  'ours, middleware': {
    'MIDDLE-01':
      'Middleware runs around every request that runs a handler, the first that was put there outermost.',
    'MIDDLE-02': 'Middleware may answer itself, change the result, or fail as the handler would.',
    'MIDDLE-03':
      'Middleware sees the context of the call: its client, its signal, what it may ask.',
    'MIDDLE-04': 'A handler runs at most once for a request, however often next() is called.',
    'MIDDLE-05': 'Without middleware nothing stands between router and handler.',
  },
  'ours, schemas': {
    'SCHEMA-02':
      'A schema is any Standard Schema that tells its JSON Schema, or a JSON Schema: handlers get what it gives, with defaults and transforms.',
    'SCHEMA-03': 'What a schema refuses is said with its path, whichever library found it.',
    'SCHEMA-04': 'A schema that checks asynchronously is awaited, for arguments and for results.',
    'SCHEMA-05': 'The types of a schema flow into the handler and its output without a cast.',
    'SCHEMA-06':
      'A JSON Schema that cannot be compiled fails the tool at its first call, by name, and nothing else.',
  },
  'MCP 2025-11-25, server/tools, "Tool Names"': {
    'TOOLS-06': 'A tool’s name has 1 to 128 characters of A-Z a-z 0-9 _ - .',
  },
  'MCP 2025-11-25, server/utilities/pagination': {
    'TOOLS-07': 'A cursor that the server never gave is -32602.',
  },
  'MCP 2025-11-25, server/resources, "Reading Resources"': {
    'RES-01': 'A resource is read as text or base64, with its mimeType.',
  },
  'MCP 2025-11-25, server/resources, "Error Handling"': {
    'RES-02': 'A resource that is not there is -32002 with its URI.',
  },
  'MCP 2025-11-25, server/resources, "Subscriptions"': {
    'RES-03': 'updated goes to subscribers only, and not after unsubscribe.',
  },
  'MCP 2025-11-25, server/resources, "Capabilities"': {
    'RES-04': 'subscribe is declared; listChanged is not.',
  },
  'MCP 2025-11-25, client/roots, "Security Considerations"': {
    'ROOTS-21':
      'A root that is missing, no directory or not accessible is unusable with a reason; the others are used.',
    'ROOTS-22': 'A root that disappears later is noticed when it is used.',
    'BOUND-01':
      'A path is inside a root by its real path and by whole segments: /a/b does not contain /a/bc.',
    'BOUND-02': 'A link that leads out of the roots is refused, and checked again at open.',
    'BOUND-03': 'A path that is not there yet is judged by its nearest existing ancestor.',
  },
};

export const requirements: readonly Requirement[] = Object.entries(demands)
  .flatMap(([source, rows]) => Object.entries(rows).map(([id, text]) => ({ id, source, text })))
  .sort((one, other) => (one.id < other.id ? -1 : 1));
