/** What is asked of the client: sampling, elicitation. */
import type { Demands } from './demands.ts';

export const clientFeatures: Demands = {
  'MCP 2025-11-25, client/sampling, "Capabilities"': {
    'SAMPLE-01': {
      text: 'Sampling is asked for only where it was declared; otherwise nothing is sent.',
      by: 'revision',
    },
    'SAMPLE-02': {
      text: 'Tools in sampling need sampling.tools, and a revision that knows them; so does a conversation that used some.',
      by: 'revision',
    },
    'SAMPLE-03': {
      text: 'includeContext other than none needs sampling.context where the revision has that capability.',
      by: 'revision',
    },
  },
  'MCP 2025-11-25, client/sampling, "Creating Messages"': {
    'SAMPLE-04': {
      text: 'The request says what the handler said, in the way that the revision knows.',
      by: 'revision',
    },
    'SAMPLE-05': {
      text: 'A result is one block or many, and is read alike; a malformed one is INVALID_RESPONSE.',
      by: 'revision',
    },
  },
  'MCP 2025-11-25, client/sampling, "Message Content Constraints"': {
    'SAMPLE-06': {
      text: 'Uses of tools are followed by their results, alone in a message of the user.',
      since: '2025-11-25',
    },
  },
  'MCP 2025-11-25, client/sampling, "Error Handling"': {
    'SAMPLE-07': 'A refusal by the user is the caller’s to see: REQUEST_FAILED with code -1.',
  },
  'MCP 2025-11-25, client/elicitation, "Capabilities"': {
    'ELICIT-01': {
      text: 'A form is sent where elicitation is {} or has form; {url: {}} alone does not mean form. Otherwise nothing is sent.',
      since: '2025-06-18',
      by: 'revision',
    },
    'ELICIT-02': {
      text: 'A URL is sent only where elicitation.url was declared.',
      since: '2025-11-25',
    },
    'ELICIT-03': {
      text: 'Elicitation begins with 2025-06-18, URLs with 2025-11-25: older clients are sent none.',
      by: 'revision',
    },
  },
  'MCP 2025-11-25, client/elicitation, "Requested Schema"': {
    'ELICIT-04': {
      text: 'Forms are flat objects of strings with formats, numbers, integers, booleans and choices; anything else is refused where it is defined, by name.',
      since: '2025-06-18',
      by: 'revision',
    },
    'ELICIT-05': {
      text: 'The requested schema has what the revision knows: 2025-06-18 has enumNames and no default but a boolean’s, and no choice of several.',
      since: '2025-06-18',
      by: 'revision',
    },
  },
  'MCP 2025-11-25, client/elicitation, "Response Actions"': {
    'ELICIT-06': {
      text: 'accept, decline and cancel are told apart; any other action is INVALID_RESPONSE.',
      since: '2025-06-18',
      by: 'revision',
    },
  },
  'MCP 2025-11-25, client/elicitation, "Form Mode Security"': {
    'ELICIT-07': {
      text: 'Content is checked against the form, on accept only; a fault is named.',
      since: '2025-06-18',
    },
  },
  'MCP 2025-11-25, client/elicitation, "URL Mode Elicitation Requests"': {
    'ELICIT-08': {
      text: 'A URL elicitation has its mode, a message, a valid URL without credentials, and an id that is unique and cannot be guessed.',
      since: '2025-11-25',
    },
  },
  'MCP 2025-11-25, client/elicitation, "Completion Notifications for URL Mode Elicitation"': {
    'ELICIT-09': {
      text: 'A completion is told once, and only to the client that was asked.',
      since: '2025-11-25',
    },
  },
  'MCP 2025-11-25, client/elicitation, "URL Elicitation Required Error"': {
    'ELICIT-10': {
      text: 'A request that needs a URL opened first is -32042 with its elicitations.',
      since: '2025-11-25',
    },
  },
  'ours, handlers': {
    'CTX-01': 'A request with a schema gives what has passed it; what has not is INVALID_RESPONSE.',
    'CTX-02': 'A hundred handlers that await their clients hold up nobody else.',
    'CTX-03': { text: 'A handler sees its session: id, revision and state.', by: 'revision' },
  },
};
