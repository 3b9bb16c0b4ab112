/** Tools of the lab that answer immediately. */
import { ToolError, defineTool } from 'mcp-actors';
import type { McpServer, Tool } from 'mcp-actors';

/** Returns the settled roots of the client and their state. */
export const listRoots = defineTool({
  name: 'list_roots',
  title: 'List roots',
  description:
    "The client's roots as they are settled now, and what is known of them: known, undeclared, unsupported or failed.",
  annotations: { readOnlyHint: true },
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  outputSchema: {
    type: 'object',
    properties: {
      status: { enum: ['known', 'undeclared', 'unsupported', 'failed'] },
      settled: { type: 'boolean', description: 'False while a newer list is being asked for.' },
      generation: { type: 'integer', description: 'Counts the lists that were published.' },
      roots: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            uri: { type: 'string' },
            name: { type: 'string' },
            problem: { type: 'object', description: 'Why the entry cannot be used.' },
          },
          required: ['uri'],
        },
      },
      problem: { type: 'string' },
    },
    required: ['status', 'settled', 'generation', 'roots'],
  },
  handler: async (_args, context) => ({ structured: await context.roots() }),
});

export const echo = defineTool({
  name: 'echo',
  title: 'Echo',
  description: 'Gives the message back.',
  annotations: { readOnlyHint: true },
  inputSchema: {
    type: 'object',
    properties: { message: { type: 'string' } },
    required: ['message'],
    additionalProperties: false,
  },
  outputSchema: {
    type: 'object',
    properties: { message: { type: 'string' } },
    required: ['message'],
  },
  handler: ({ message }) => ({
    content: [{ type: 'text', text: message }],
    structured: { message },
  }),
});

/** Logs to the client. */
export const log = defineTool({
  name: 'log',
  title: 'Log a message',
  description: 'Sends the client one log message, if it wants messages of that level.',
  inputSchema: {
    type: 'object',
    properties: {
      level: {
        enum: ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'],
      },
      message: { type: 'string' },
    },
    required: ['level', 'message'],
    additionalProperties: false,
  },
  handler: ({ level, message }, context) => {
    context.log[level](message, 'lab');
    return `Logged at ${level}`;
  },
});

/** Parameters that HTTP clients mirror in headers such as `Mcp-Param-Text`. */
export const headers = defineTool({
  name: 'headers',
  title: 'Take parameters from headers',
  description: 'Says which parameters it got. Over HTTP, each is also in a header.',
  annotations: { readOnlyHint: true },
  inputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string', 'x-mcp-header': 'Text' },
      count: { type: 'integer', 'x-mcp-header': 'Count' },
      flag: { type: 'boolean', 'x-mcp-header': 'Flag' },
      nested: {
        type: 'object',
        properties: { text: { type: 'string', 'x-mcp-header': 'Nested-Text' } },
        additionalProperties: false,
      },
    },
    additionalProperties: false,
  },
  outputSchema: { type: 'object', properties: { got: { type: 'object' } }, required: ['got'] },
  handler: (got) => ({ structured: { got } }),
});

/** Creates a tool that announces changes of a server. */
export function changeOf(server: McpServer): Tool {
  return defineTool({
    name: 'change',
    title: 'Announce a change',
    description:
      'Tells every client that wants to know it that a list has changed, or that a resource was updated.',
    inputSchema: {
      type: 'object',
      properties: {
        what: { enum: ['tools', 'prompts', 'resources', 'resource'] },
        uri: { type: 'string', description: 'Of the resource, if it is one that was updated.' },
      },
      required: ['what'],
      additionalProperties: false,
    },
    handler: ({ what, uri }) => {
      if (what !== 'resource') {
        server[what].announce();
        return `Announced that the ${what} have changed`;
      }
      if (uri === undefined)
        throw new ToolError('Say which resource was updated: "uri" is missing');
      server.resourceUpdated(uri);
      return `Announced that ${uri} was updated`;
    },
  });
}
