/** What the server offers: tools, resources, prompts, completion, lists, logging, and what is around handlers. */
import type { Demands } from './demands.ts';

export const serverFeatures: Demands = {
  'MCP 2025-11-25, server/utilities/logging': {
    'LOG-01': {
      text: 'A server that logs declares logging; one that does not declare it sends nothing.',
      by: 'revision',
    },
    'LOG-02': 'Messages below the level that the client set are not sent; each level can be set.',
    'LOG-03': 'A level that is none is -32602, and the level before stands.',
    'LOG-04':
      'A message has its level, its logger where it has one, and any data that JSON can hold.',
    'LOG-05': 'Messages are rate-limited in a session; one message sums up what was left out.',
  },
  'ours, logging': {
    'LOG-06': 'What JSON cannot hold, and what comes after the end of its request, harms nothing.',
  },
  'MCP 2025-11-25, server/tools, "Error Handling"': {
    'TOOLS-01': 'An unknown tool or a malformed call is -32602.',
    'TOOLS-02': {
      text: 'Arguments that fail the schema are a result with isError since 2025-11-25, -32602 before.',
      by: 'revision',
    },
    'TOOLS-03':
      'A failure of a tool that was found is a result with isError, with a message for the model.',
  },
  'MCP 2025-11-25, server/tools, "Structured Content"': {
    'TOOLS-04': {
      text: 'structuredContent conforms to outputSchema and its text is sent too; older revisions get the text alone.',
      by: 'revision',
    },
  },
  'MCP 2025-11-25, server/tools, "Tool"': {
    'TOOLS-05': { text: 'A listed tool has only what its revision knows.', by: 'revision' },
  },
  'MCP 2025-11-25, schema, "Tool"': {
    'SCHEMA-01': {
      text: 'inputSchema and outputSchema describe objects; a definition with another schema is refused at once.',
      apart: 'It is decided when a tool is defined, before there is a session.',
    },
  },
  'OpenTelemetry semantic conventions for MCP, "Server"': {
    'OTEL-01': {
      text: 'Each request that runs a handler is a server span "{method} {tool or prompt}" with the attributes of the conventions.',
      apart:
        'The module sees a request after the session has read it; its tests run in each revision.',
    },
    'OTEL-03': {
      text: 'error.type is the code of the error that the client gets, tool_error for a result with isError, and the status is an error then.',
      apart:
        'The module sees a request after the session has read it; its tests run in each revision.',
    },
  },
  'OpenTelemetry semantic conventions for MCP, "Context propagation"': {
    'OTEL-02': {
      text: 'The trace context in params._meta is the parent; the context around it, over HTTP that of the headers, is linked then and otherwise the parent; the span is active while the handler runs.',
      apart:
        'The module sees a request after the session has read it; its tests run in each revision.',
    },
  },
  'OpenTelemetry semantic conventions for MCP, "Metrics"': {
    'OTEL-04': {
      text: 'mcp.server.operation.duration is recorded in seconds, with attributes of low cardinality.',
      apart:
        'The module sees a request after the session has read it; its tests run in each revision.',
    },
    'OTEL-05': {
      text: 'mcp.server.session.duration is recorded in seconds when a session has ended, with error.type where that was an error.',
      apart: 'It is recorded once the session has ended; its tests run in each revision.',
    },
  },
  'ours, middleware': {
    'MIDDLE-01':
      'Middleware runs around every request that runs a handler, the first that was put there outermost.',
    'MIDDLE-02': 'Middleware may answer itself, change the result, or fail as the handler would.',
    'MIDDLE-03':
      'Middleware sees the context of the call: its client, its signal, what it may ask.',
    'MIDDLE-04': 'A handler runs at most once for a request, however often next() is called.',
    'MIDDLE-05': {
      text: 'Without middleware nothing stands between router and handler.',
      apart: 'It is about what is called where no middleware is.',
    },
  },
  'ours, schemas': {
    'SCHEMA-02': {
      text: 'A schema is any Standard Schema that tells its JSON Schema, or a JSON Schema: handlers get what it gives, with defaults and transforms.',
      by: 'revision',
    },
    'SCHEMA-03': 'What a schema refuses is said with its path, whichever library found it.',
    'SCHEMA-04': 'A schema that checks asynchronously is awaited, for arguments and for results.',
    'SCHEMA-05': {
      text: 'The types of a schema flow into the handler and its output without a cast.',
      apart: 'It is decided when a tool is defined, before there is a session.',
    },
    'SCHEMA-06': {
      text: 'A JSON Schema with a fault is refused, by the name of its tool and with its place.',
      apart: 'It is decided when a tool is defined, before there is a session.',
    },
  },
  'MCP 2025-11-25, server/tools, "Tool Names"': {
    'TOOLS-06': {
      text: 'A tool’s name has 1 to 128 characters of A-Z a-z 0-9 _ - .',
      apart: 'It is decided when a tool is defined, before there is a session.',
    },
    'TOOLS-11': 'Tool names differ in their case, and are unique in a server.',
  },
  'MCP 2025-11-25, basic, "JSON Schema Usage"': {
    'SCHEMA-07': {
      text: 'A JSON Schema of another dialect than 2020-12 is refused, by name.',
      apart: 'It is decided when a tool is defined, before there is a session.',
    },
    'SCHEMA-08':
      'A JSON Schema without $schema, or with that of 2020-12, is checked as one of 2020-12.',
  },
  'MCP 2025-11-25, server/utilities/pagination': {
    'TOOLS-07': 'A cursor that the server never gave is -32602.',
  },
  'MCP 2025-11-25, server/resources, "Reading Resources"': {
    'RES-01': { text: 'A resource is read as text or base64, with its mimeType.', by: 'revision' },
  },
  'MCP 2025-11-25, server/resources, "Error Handling"': {
    'RES-02': 'A resource that is not there is -32002 with its URI.',
  },
  'MCP 2025-11-25, server/resources, "Subscriptions"': {
    'RES-03': 'updated goes to subscribers only, and not after unsubscribe.',
  },
  'MCP 2025-11-25, server/resources, "Capabilities"': {
    'RES-04': { text: 'resources is declared with subscribe and listChanged.', by: 'revision' },
  },
  'MCP 2025-11-25, server/resources, "Resource Templates"': {
    'RES-05':
      'A URI is read through the template that it follows, with the variables decoded; a fixed resource wins.',
  },
  'MCP 2025-11-25, server/resources, "Security Considerations"': {
    'RES-06': 'What is no URI is -32602, and cannot be defined.',
  },
  'MCP 2025-11-25, server/resources, "Listing Resources"': {
    'RES-07': {
      text: 'Resources and templates are listed with what the revision knows, each once.',
      by: 'revision',
    },
  },
  'MCP 2025-11-25, server/resources, "List Changed Notification"': {
    'RES-08': 'The client is told when what a template lists has changed.',
  },
  'MCP 2025-11-25, server/tools, "Capabilities"': {
    'TOOLS-08': {
      text: 'tools is declared with listChanged, where the server has tools and only there.',
      by: 'revision',
    },
  },
  'MCP 2025-11-25, server/tools, "Calling Tools"': {
    'TOOLS-09': 'A tool is called with its arguments, and its result has content.',
  },
  'MCP 2025-11-25, server/tools, "Tool Result"': {
    'TOOLS-10': {
      text: 'Content is text, images, audio, resource links and embedded resources; what its revision does not know a client is told in words.',
      by: 'revision',
    },
  },
  'MCP 2025-11-25, server/prompts, "Capabilities"': {
    'PROMPT-01': { text: 'prompts is declared with listChanged.', by: 'revision' },
  },
  'MCP 2025-11-25, server/prompts, "Listing Prompts"': {
    'PROMPT-02': {
      text: 'Prompts are listed with their arguments and what the revision knows.',
      by: 'revision',
    },
  },
  'MCP 2025-11-25, server/prompts, "Getting a Prompt"': {
    'PROMPT-03': {
      text: 'A prompt is got as messages of either role with any content.',
      by: 'revision',
    },
  },
  'MCP 2025-11-25, server/prompts, "Error Handling"': {
    'PROMPT-04':
      'An unknown name, and an argument that is missing, unknown or no string, are -32602 and named.',
  },
  'MCP 2025-11-25, server/prompts, "Security"': {
    'PROMPT-05': 'What a prompt gives is checked before it is sent.',
  },
  'MCP 2025-11-25, server/utilities/completion, "Capabilities"': {
    'COMPL-01': {
      text: 'completions is declared where something completes, from 2025-03-26 on; where nothing does, completion is -32601.',
      by: 'revision',
    },
  },
  'MCP 2025-11-25, server/utilities/completion, "Completion Results"': {
    'COMPL-02':
      'At most 100 values are sent, best first, with how many there are and whether there are more.',
  },
  'MCP 2025-11-25, server/utilities/completion, "Error Handling"': {
    'COMPL-03': 'An unknown reference or argument, and a malformed request, are -32602.',
  },
  'MCP 2025-11-25, server/utilities/completion, "Requesting Completions"': {
    'COMPL-04': {
      text: 'What has been filled in already is context, from 2025-06-18 on.',
      by: 'revision',
    },
  },
  'MCP 2025-11-25, server/utilities/pagination, "Response Format"': {
    'PAGE-01':
      'A list longer than a page has a cursor for the next one, and the last page has none.',
  },
  'MCP 2025-11-25, server/utilities/pagination, "Implementation Guidelines"': {
    'PAGE-02':
      'Cursors are stable: what stays while pages are asked for is neither skipped nor repeated.',
  },
  'MCP 2025-11-25, server/tools, "List Changed Notification"': {
    'LIST-01': 'Adding, removing, enabling and disabling is told with list_changed of its kind.',
  },
  'ours, lists': {
    'LIST-02':
      'Changes in a row are told once; a list that never stops changing is told of nevertheless.',
    'LIST-03':
      'No change is told before the client is ready; what changed until then is told after.',
    'LIST-04': 'Each session is told until it ends, and holds no timer after.',
  },
};
