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
  'MCP 2025-03-26, basic/utilities/progress': {
    'PROGRESS-05': 'Progress has a message from this revision on; older clients are sent none.',
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
  'MCP 2025-11-25, server/utilities/logging': {
    'LOG-01': 'A server that logs declares logging; one that does not declare it sends nothing.',
    'LOG-02': 'Messages below the level that the client set are not sent; each level can be set.',
    'LOG-03': 'A level that is none is -32602, and the level before stands.',
    'LOG-04': 'A message has its level, its logger where it has one, and any data that JSON can hold.',
    'LOG-05': 'Messages are rate-limited in a session; one message sums up what was left out.',
  },
  'ours, logging': {
    'LOG-06': 'What JSON cannot hold, and what comes after the end of its request, harms nothing.',
  },
  'MCP 2025-11-25, client/sampling, "Capabilities"': {
    'SAMPLE-01': 'Sampling is asked for only where it was declared; otherwise nothing is sent.',
    'SAMPLE-02':
      'Tools in sampling need sampling.tools, and a revision that knows them; so does a conversation that used some.',
    'SAMPLE-03':
      'includeContext other than none needs sampling.context where the revision has that capability.',
  },
  'MCP 2025-11-25, client/sampling, "Creating Messages"': {
    'SAMPLE-04': 'The request says what the handler said, in the way that the revision knows.',
    'SAMPLE-05': 'A result is one block or many, and is read alike; a malformed one is INVALID_RESPONSE.',
  },
  'MCP 2025-11-25, client/sampling, "Message Content Constraints"': {
    'SAMPLE-06': 'Uses of tools are followed by their results, alone in a message of the user.',
  },
  'MCP 2025-11-25, client/sampling, "Error Handling"': {
    'SAMPLE-07': 'A refusal by the user is the caller’s to see: REQUEST_FAILED with code -1.',
  },
  'MCP 2025-11-25, client/elicitation, "Capabilities"': {
    'ELICIT-01':
      'A form is sent where elicitation is {} or has form; {url: {}} alone does not mean form. Otherwise nothing is sent.',
    'ELICIT-02': 'A URL is sent only where elicitation.url was declared.',
    'ELICIT-03': 'Elicitation begins with 2025-06-18, URLs with 2025-11-25: older clients are sent none.',
  },
  'MCP 2025-11-25, client/elicitation, "Requested Schema"': {
    'ELICIT-04':
      'Forms are flat objects of strings with formats, numbers, integers, booleans and choices; anything else is refused where it is defined, by name.',
    'ELICIT-05':
      'The requested schema has what the revision knows: 2025-06-18 has enumNames and no default but a boolean’s, and no choice of several.',
  },
  'MCP 2025-11-25, client/elicitation, "Response Actions"': {
    'ELICIT-06': 'accept, decline and cancel are told apart; any other action is INVALID_RESPONSE.',
  },
  'MCP 2025-11-25, client/elicitation, "Form Mode Security"': {
    'ELICIT-07': 'Content is checked against the form, on accept only; a fault is named.',
  },
  'MCP 2025-11-25, client/elicitation, "URL Mode Elicitation Requests"': {
    'ELICIT-08':
      'A URL elicitation has its mode, a message, a valid URL without credentials, and an id that is unique and cannot be guessed.',
  },
  'MCP 2025-11-25, client/elicitation, "Completion Notifications for URL Mode Elicitation"': {
    'ELICIT-09': 'A completion is told once, and only to the client that was asked.',
  },
  'MCP 2025-11-25, client/elicitation, "URL Elicitation Required Error"': {
    'ELICIT-10': 'A request that needs a URL opened first is -32042 with its elicitations.',
  },
  'ours, handlers': {
    'CTX-01': 'A request with a schema gives what has passed it; what has not is INVALID_RESPONSE.',
    'CTX-02': 'A hundred handlers that await their clients hold up nobody else.',
    'CTX-03': 'A handler sees its session: id, revision and state.',
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
  'MCP 2025-11-25, basic/transports, "Sending Messages to the Server"': {
    'STREAM-01':
      'What a handler sends while it serves a request is marked as that request’s, and goes on its stream.',
  },
  'MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"': {
    'STREAM-02': 'What belongs to no request of the client’s goes on no request’s stream.',
  },
  'MCP 2025-11-25, basic/transports, "Security Warning"': {
    'STREAM-03': 'A server on loopback refuses a foreign Host or Origin with 403.',
  },
  'MCP 2025-11-25, basic/transports, "Session Management"': {
    'STREAM-04': 'A session has an id of its own; an unknown or ended one is 404.',
  },
  'MCP 2025-11-25, basic/transports, "Custom Transports"': {
    'STREAM-05':
      'Whatever carries messages both ways carries a session: the official clients work over each transport.',
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
    'RES-04': 'resources is declared with subscribe and listChanged.',
  },
  'MCP 2025-11-25, server/resources, "Resource Templates"': {
    'RES-05':
      'A URI is read through the template that it follows, with the variables decoded; a fixed resource wins.',
  },
  'MCP 2025-11-25, server/resources, "Security Considerations"': {
    'RES-06': 'What is no URI is -32602, and cannot be defined.',
  },
  'MCP 2025-11-25, server/resources, "Listing Resources"': {
    'RES-07': 'Resources and templates are listed with what the revision knows, each once.',
  },
  'MCP 2025-11-25, server/resources, "List Changed Notification"': {
    'RES-08': 'The client is told when what a template lists has changed.',
  },
  'MCP 2025-11-25, server/tools, "Capabilities"': {
    'TOOLS-08': 'tools is declared with listChanged, where the server has tools and only there.',
  },
  'MCP 2025-11-25, server/tools, "Calling Tools"': {
    'TOOLS-09': 'A tool is called with its arguments, and its result has content.',
  },
  'MCP 2025-11-25, server/tools, "Tool Result"': {
    'TOOLS-10':
      'Content is text, images, audio, resource links and embedded resources; what its revision does not know a client is told in words.',
  },
  'MCP 2025-11-25, server/prompts, "Capabilities"': {
    'PROMPT-01': 'prompts is declared with listChanged.',
  },
  'MCP 2025-11-25, server/prompts, "Listing Prompts"': {
    'PROMPT-02': 'Prompts are listed with their arguments and what the revision knows.',
  },
  'MCP 2025-11-25, server/prompts, "Getting a Prompt"': {
    'PROMPT-03': 'A prompt is got as messages of either role with any content.',
  },
  'MCP 2025-11-25, server/prompts, "Error Handling"': {
    'PROMPT-04':
      'An unknown name, and an argument that is missing, unknown or no string, are -32602 and named.',
  },
  'MCP 2025-11-25, server/prompts, "Security"': {
    'PROMPT-05': 'What a prompt gives is checked before it is sent.',
  },
  'MCP 2025-11-25, server/utilities/completion, "Capabilities"': {
    'COMPL-01':
      'completions is declared where something completes, from 2025-03-26 on; where nothing does, completion is -32601.',
  },
  'MCP 2025-11-25, server/utilities/completion, "Completion Results"': {
    'COMPL-02': 'At most 100 values are sent, best first, with how many there are and whether there are more.',
  },
  'MCP 2025-11-25, server/utilities/completion, "Error Handling"': {
    'COMPL-03': 'An unknown reference or argument, and a malformed request, are -32602.',
  },
  'MCP 2025-11-25, server/utilities/completion, "Requesting Completions"': {
    'COMPL-04': 'What has been filled in already is context, from 2025-06-18 on.',
  },
  'MCP 2025-11-25, server/utilities/pagination, "Response Format"': {
    'PAGE-01': 'A list longer than a page has a cursor for the next one, and the last page has none.',
  },
  'MCP 2025-11-25, server/utilities/pagination, "Implementation Guidelines"': {
    'PAGE-02':
      'Cursors are stable: what stays while pages are asked for is neither skipped nor repeated.',
  },
  'MCP 2025-11-25, server/tools, "List Changed Notification"': {
    'LIST-01': 'Adding, removing, enabling and disabling is told with list_changed of its kind.',
  },
  'ours, lists': {
    'LIST-02': 'Changes in a row are told once; a list that never stops changing is told of nevertheless.',
    'LIST-03': 'No change is told before the client is ready; what changed until then is told after.',
    'LIST-04': 'Each session is told until it ends, and holds no timer after.',
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
  'MCP 2025-11-25, basic/utilities/tasks, "Task Support and Handling"': {
    'TASKS-01': 'Where tasks are not declared, or not known to the revision, params.task is ignored.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation"': {
    'TASKS-02':
      'A tool whose taskSupport is required is -32601 without a task, one that is forbidden is -32601 with one.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Capabilities"': {
    'TASKS-03': 'tasks is declared where some tool may run as one, with list, cancel and tools/call.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Task ID Requirements"': {
    'TASKS-04': 'Task ids are strings of the server’s own, unique, and cannot be guessed.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Task Status Lifecycle"': {
    'TASKS-05': 'A task begins as working.',
    'TASKS-06': 'A task takes the valid paths only, and stays in a terminal status.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Input Required Status"': {
    'TASKS-07': 'A task that needs an answer of the client’s is input_required, and working again after.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "TTL and Resource Management"': {
    'TASKS-08': 'Every task response has createdAt and lastUpdatedAt, ISO 8601.',
    'TASKS-09': 'The actual ttl is told; the requested one is kept within bounds.',
    'TASKS-10': 'Once its ttl has elapsed a task is gone, and its handler is cancelled.',
    'TASKS-11': 'A pollInterval is suggested.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Result Retrieval"': {
    'TASKS-12': 'A task-augmented request is answered with a CreateTaskResult at once.',
    'TASKS-13': 'tasks/result blocks until the task is terminal.',
    'TASKS-14':
      'tasks/result gives exactly what the request would have been answered with, result or error.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Associating Task-Related Messages"': {
    'TASKS-15': 'What belongs to a task has the related-task metadata, in both directions of the server’s.',
    'TASKS-16':
      'The taskId of the params counts, whatever metadata says; get, list, cancel and status have none of it.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Task Notifications"': {
    'TASKS-17': 'A change of the status is told by notifications/tasks/status, with the whole task.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Task Progress Notifications"': {
    'TASKS-18': 'The progress token of the request is valid for the life of the task.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Task Listing"': {
    'TASKS-19': 'tasks/list has pages, with a nextCursor where there are more, and holds every task that can be got.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Task Cancellation"': {
    'TASKS-20': 'A task that is terminal cannot be cancelled: -32602.',
    'TASKS-21': 'A task is cancelled before tasks/cancel is answered, and its work is stopped.',
    'TASKS-22': 'A cancelled task stays cancelled, whatever becomes of its handler.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Protocol Errors"': {
    'TASKS-23': 'A taskId that is none, or unknown, or expired is -32602; so is a cursor that was never given.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Task Execution Errors"': {
    'TASKS-24': 'A task whose request failed, or whose result has isError, is failed, and its statusMessage says why.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Task Isolation and Access Control"': {
    'TASKS-25': 'A session reaches its own tasks only.',
  },
  'MCP 2025-11-25, basic/utilities/tasks, "Resource Management"': {
    'TASKS-26': 'Running and kept tasks are limited; one more is refused, retryable.',
  },
  'MCP 2025-11-25, basic/utilities/cancellation, "Behavior Requirements"': {
    'TASKS-27': 'notifications/cancelled for the request does not cancel its task.',
  },
};

export const requirements: readonly Requirement[] = Object.entries(demands)
  .flatMap(([source, rows]) => Object.entries(rows).map(([id, text]) => ({ id, source, text })))
  .sort((one, other) => (one.id < other.id ? -1 : 1));
