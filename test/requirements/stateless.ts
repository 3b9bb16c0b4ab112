/** The revision without a handshake: what its requests carry, how they ask, subscriptions, caching, and what differs in the features. */
import { of } from './demands.ts';
import type { Demands } from './demands.ts';

/** How messages of 2026-07-28 come, go and end. */
export const statelessMessages: Demands = of(
  { since: '2026-07-28', by: 'transport' },
  {
    'MCP 2026-07-28, basic, "Requests"': {
      'ENV-01':
        'An id is free again once its request was answered; the same id in flight is -32600, and the first goes on.',
    },
    'MCP 2026-07-28, basic, "Notifications"': {
      'ENV-02': 'Neither a notification nor a response of the client’s is answered.',
    },
    'MCP 2026-07-28, basic, "Statelessness"': {
      'ENV-03':
        'A request is served as that of the client which it names itself: no other request on the connection counts.',
    },
    'MCP 2026-07-28, basic, "_meta"': {
      'ENV-04':
        'A request that lacks its version or its capabilities, or has a malformed key, is -32602 that names the key.',
      'ENV-05':
        'A capability that the request does not declare is not used; if the request needs it, it is -32021 with what is required.',
    },
    'MCP 2026-07-28, basic/patterns': {
      'ENV-06':
        'No request is sent to the client, and no notification that belongs to none of its requests.',
    },
    'MCP 2026-07-28, changelog': {
      'ENV-07': 'A method that the revision has not, or not any more, is -32601.',
    },
    'MCP 2026-07-28, basic/versioning': {
      'ERA-01':
        'A version that no request may name is -32022, with those that it may and with the one that it named.',
      'ERA-02':
        'initialize is an error that names the versions once a request has settled the era, and the connection goes on.',
    },
    'MCP 2026-07-28, server/discover': {
      'DISC-01':
        'server/discover is answered from the first moment, in either era, with the versions, the capabilities and the instructions.',
    },
    'MCP 2026-07-28, basic/patterns/mrtr': {
      'ROUNDS-01':
        'A call that asks ends with input_required, its questions and its state, and the retry gets the result.',
    },
    'MCP 2026-07-28, basic/patterns/mrtr, "Error Handling"': {
      'ROUNDS-02':
        'An answer that is missing is asked for again, and what was not asked is ignored.',
    },
    'MCP 2026-07-28, basic/patterns/cancellation': {
      'CANCEL-11':
        'Cancelling a request in flight aborts its signal, and nothing more is sent for it.',
      'CANCEL-12':
        'A cancellation of something unknown or finished, or a malformed one, is ignored.',
    },
    'MCP 2026-07-28, basic/patterns/progress': {
      'PROGRESS-08':
        'Progress is sent only if the request has a token, with that token, strictly increasing, and not after the answer.',
    },
    'MCP 2026-07-28, server/utilities/logging, "Per-request log level"': {
      'LOG-07':
        'Messages are sent for a request that names a level alone, from that level on, while it is open.',
    },
    'MCP 2026-07-28, basic/patterns/subscriptions': {
      'LISTEN-01': 'A subscription is acknowledged first, with what of its filter is served.',
      'LISTEN-02':
        'A subscription is told what its filter names and nothing else, each time with its id.',
    },
    'MCP 2026-07-28, basic/patterns/subscriptions, "Cancellation"': {
      'LISTEN-03': 'A subscription that its client cancels is told nothing more.',
      'LISTEN-04':
        'A subscription that the server ends gets its result, with its id, and no cancellation: it has ended.',
    },
    'MCP 2026-07-28, basic/transports/stdio, "Shutdown"': {
      'STDIO-10': {
        text: 'The end of the input ends subscriptions and what is suspended; what runs is answered, then the session ends.',
        over: 'bytes',
      },
    },
  },
);

/** What messages of 2026-07-28 say. */
export const statelessFeatures: Demands = of(
  { since: '2026-07-28' },
  {
    'MCP 2026-07-28, basic, "ResultType"': {
      'ENV-08':
        'Every result says its type: complete, if it does not ask, and if no extension that both sides know says another.',
    },
    'MCP 2026-07-28, basic, "Error Codes"': {
      'ENV-09': 'No code leaves that the revision forbids, whatever a handler throws.',
    },
    'MCP 2026-07-28, basic, "_meta"': {
      'ENV-10': 'Every result has the name and the version of the server in its _meta.',
      'ENV-11': 'A client that does not identify itself is served like one that does.',
    },
    'MCP 2026-07-28, basic/versioning': {
      'ERA-04': 'A session of an earlier revision serves a request with an envelope by itself.',
    },
    'MCP 2026-07-28, basic/versioning, "Extension Negotiation"': {
      'ERA-05':
        'An extension is used with a client that declares it; another is served without it, or refused if it is needed.',
    },
    'MCP 2026-07-28, basic/patterns/mrtr': {
      'ROUNDS-03':
        'Tools, prompts and resources ask; what asks from anywhere else is not sent to the client.',
      'ROUNDS-04': 'What is asked together has keys of its own, and travels together.',
      'ROUNDS-05': 'A state that was not sealed here, or not as it comes back, is refused.',
      'ROUNDS-06':
        'A state is refused once it has expired, from another principal, and on another request than the one that it was made for.',
      'ROUNDS-07':
        'A state that comes twice does the work once; where single use is demanded, the second is refused.',
      'ROUNDS-08':
        'A call that nobody goes on with ends in time, as if it were cancelled; so many are kept.',
      'ROUNDS-09': 'A retry is served by any process that has the key.',
    },
    'MCP 2026-07-28, basic/patterns/mrtr, "Error Handling"': {
      'ROUNDS-10': 'Answers of the wrong shape are -32602 that names which.',
    },
    'MCP 2026-07-28, basic, "$ref Resolution"': {
      'SCHEMA-09':
        'A $ref to the network is never fetched: the schema is refused with the name of its tool.',
    },
    'MCP 2026-07-28, basic/transports/stdio, "Backward Compatibility"': {
      'ERA-03': 'Discovery, and a probe that fails, settle nothing: initialize may follow.',
    },
    'ours, subscriptions': {
      'LISTEN-05': 'A filter of the wrong shape is -32602 that names the member.',
      'LISTEN-06':
        'What a client listens for is limited, and told once each to a client that has not read for a while.',
    },
    'MCP 2026-07-28, basic/patterns/subscriptions, "Multiple Concurrent Subscriptions"': {
      'LISTEN-07': 'Subscriptions of one client stand beside each other, each with its own id.',
    },
    'MCP 2026-07-28, server/utilities/caching': {
      'CACHE-01':
        'Discovery, lists and what is read say for how long and by whom they may be cached; nothing else does.',
      'CACHE-02': 'What a retry has read says that it is not to be cached.',
      'CACHE-03': 'ttlMs is a whole number from 0; another one is refused where it is defined.',
    },
    'MCP 2026-07-28, server/utilities/caching, "Interaction with Pagination"': {
      'CACHE-04': 'All pages of a list have the same scope.',
    },
    'MCP 2026-07-28, server/discover, "DiscoverResult"': {
      'DISC-02':
        'What a server offers is declared, in the way of this revision, and nothing else; what it did not declare is -32601.',
    },
    'MCP 2026-07-28, server/utilities/logging': {
      'LOG-08': 'A level that is none is -32602.',
    },
    'MCP 2026-07-28, server/tools, "Listing Tools"': {
      'TOOLS-12':
        'Lists are the same for every client and after every request, in the order of their definition.',
    },
    'MCP 2026-07-28, server/tools, "Structured Content"': {
      'TOOLS-13':
        'structuredContent conforms to outputSchema, and its JSON is sent as text too; arguments that fail their schema are a result with isError.',
    },
    'MCP 2026-07-28, server/resources, "Error Handling"': {
      'RES-09': 'A resource that is not there is -32602 with its URI, never an empty list.',
    },
    'MCP 2026-07-28, server/prompts, "Error Handling"': {
      'PROMPT-06': 'An unknown prompt and a missing argument are -32602; what is right is got.',
    },
    'MCP 2026-07-28, server/utilities/completion, "Error Handling"': {
      'COMPL-05': 'An unknown reference or argument is -32602; what is right is completed.',
    },
    'MCP 2026-07-28, server/utilities/pagination': {
      'PAGE-03': 'A cursor leads to the next page, and one that was never given is -32602.',
    },
    'MCP 2026-07-28, client/elicitation': {
      'ELICIT-11': 'A mode that the request does not declare is not asked for.',
      'ELICIT-12':
        'A form has its mode, its message and its schema; a URL its mode, its message and a valid URL.',
      'ELICIT-13': 'accept, decline and cancel are told apart, and content is checked by the form.',
    },
    'MCP 2026-07-28, client/sampling': {
      'SAMPLE-08': 'Sampling, and tools in it, are asked for only if the request declares them.',
    },
    'MCP 2026-07-28, client/roots': {
      'ROOTS-23': 'Roots are asked for once in a call, and only if the request declares them.',
    },
  },
);
