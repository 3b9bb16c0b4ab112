/** What a host keeps of its server's lists, and what it answers. */
import type { Demands } from './demands.ts';

export const hostFeatures: Demands = {
  'MCP 2025-11-25, server/utilities/pagination, "Implementation Guidelines"': {
    'LISTS-01':
      'A list has all its pages, whatever their size; cursors are opaque, and an empty one is one.',
  },
  'MCP 2026-07-28, server/utilities/caching, "Time-to-Live (TTL) Field"': {
    'LISTS-02':
      'A list that was called fresh is asked for from its beginning once that time is over and somebody wants it, and not before; a change that is told ends the time at once.',
  },
  'MCP 2026-07-28, server/utilities/caching': {
    'LISTS-08':
      'A list whose time is 0 or less is asked for each time; one without a time is kept until a change is told.',
    'LISTS-10': 'What one request was answered with is given to no other one.',
  },
  'MCP 2025-11-25, server/utilities/pagination': {
    'LISTS-09': 'No cursor outlives the channel that it came over.',
  },
  'MCP 2026-07-28, server/tools, "Tool Names"': {
    'LISTS-11':
      'The tools of many servers are told apart by the names that the host has for its servers, whatever these call themselves.',
  },
  'MCP 2026-07-28, server/utilities/caching, "Cache Scope Field"': {
    'LISTS-07':
      'What a server has told one login is not shown to another, neither from disk nor after another login in one connection.',
  },
  'MCP 2026-07-28, basic/patterns/subscriptions': {
    'LISTS-03':
      'A host listens for the changes of what it wants, on each channel anew, and tells its subscriptions apart by their ids.',
    'LISTS-04': 'What the server has not agreed to tell is not taken for watched.',
  },
  'MCP 2026-07-28, basic/patterns/mrtr, "Client Requirements (Basic Workflow)"': {
    'ANSWER-01':
      'What a call asks is answered before the call is made again, with the state as it came, or without one if there was none.',
    'ANSWER-02': 'Answers and state go into no other request than the next round of their call.',
  },
  'MCP 2026-07-28, basic/index, "ResultType"': {
    'ANSWER-03': 'A result without a type is complete, and one of an unknown type invalid.',
  },
  'MCP 2025-11-25, client/elicitation, "Requested Schema"': {
    'ANSWER-04':
      'A form without a mode is a form; its answer has the defaults of its schema, and conforms to it.',
  },
  'MCP 2025-11-25, client/elicitation, "Capabilities"': {
    'ANSWER-05': 'A host declares what it has a provider for, and nothing else.',
  },
  'MCP 2025-11-25, server/tools, "Output Schema"': {
    'ANSWER-12':
      'Structured content that breaks the schema of its tool is told, and given as it is.',
  },
  'MCP 2025-11-25, client/sampling, "Error Handling"': {
    'ANSWER-13':
      'A conversation in which the use of a tool lacks its result, or has more beside it, is -32602, and nobody is asked.',
  },
  'MCP 2025-11-25, client/elicitation, "Safe URL Handling"': {
    'ANSWER-14': 'A URL goes to the host’s provider, and nothing is fetched from there.',
  },
  'MCP 2026-07-28, client/sampling': {
    'ANSWER-15': 'A model is given what its request has, and nothing of one before.',
  },
  'MCP 2025-11-25, basic/utilities/tasks': {
    'FOLLOW-01':
      'A call is made a task only before a server that declares it, and of a tool that allows it; a tool that demands it is called as one.',
    'FOLLOW-02':
      'A task is looked at as often as its server says until it has ended, whether or not anything is told of it.',
    'FOLLOW-03': 'A task that asks for input has its result asked for.',
    'FOLLOW-04': 'Nothing is asked of a task that the host has cancelled.',
    'FOLLOW-05': 'The tasks that are followed are in the dump by their ids, until they end.',
  },
  'MCP 2026-07-28, client/roots, "Data Types"': {
    'ANSWER-06': 'A root that is no file:// URI is never told.',
  },
  'MCP 2025-11-25, client/roots, "Root List Changes"': {
    'ANSWER-09': 'A server that knows the roots is told when they change.',
  },
  'MCP 2025-11-25, client/elicitation, "Error Handling"': {
    'ANSWER-10':
      'What the host has not declared is refused, and nobody is asked: -32601 for a method, -32602 for a way of asking.',
  },
  'MCP 2025-11-25, client/elicitation, "Completion Notifications for URL Mode Elicitation"': {
    'ANSWER-11': 'The end of a URL that nobody was asked to open means nothing.',
  },
  ours: {
    'LISTS-05': 'A list is never older than the last change that was told, and nobody starves.',
    'LISTS-06': 'What a server does wrong in a list costs as little as it can, and is told.',
    'ANSWER-07': 'A bug in a provider is told to the host, and to the server without details.',
    'ANSWER-08': 'Only so much of what a server asks is put to the host at once.',
  },
};
