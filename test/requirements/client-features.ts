/** What is asked of the client: roots, sampling, elicitation. */
import type { Demands } from './demands.ts';

export const clientFeatures: Demands = {
  ours: {
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
    'SAMPLE-05':
      'A result is one block or many, and is read alike; a malformed one is INVALID_RESPONSE.',
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
    },
    'ELICIT-02': {
      text: 'A URL is sent only where elicitation.url was declared.',
      since: '2025-11-25',
    },
    'ELICIT-03':
      'Elicitation begins with 2025-06-18, URLs with 2025-11-25: older clients are sent none.',
  },
  'MCP 2025-11-25, client/elicitation, "Requested Schema"': {
    'ELICIT-04': {
      text: 'Forms are flat objects of strings with formats, numbers, integers, booleans and choices; anything else is refused where it is defined, by name.',
      since: '2025-06-18',
    },
    'ELICIT-05': {
      text: 'The requested schema has what the revision knows: 2025-06-18 has enumNames and no default but a boolean’s, and no choice of several.',
      since: '2025-06-18',
    },
  },
  'MCP 2025-11-25, client/elicitation, "Response Actions"': {
    'ELICIT-06': {
      text: 'accept, decline and cancel are told apart; any other action is INVALID_RESPONSE.',
      since: '2025-06-18',
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
    'CTX-03': 'A handler sees its session: id, revision and state.',
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
    'ROOTS-20': {
      text: 'A file: URI becomes a path in the forms that clients send: percent-encoding, localhost, drive letters, UNC, trailing slashes.',
      apart: 'A question about a path, not about a message.',
    },
    'ROOTS-14':
      'A URI that is not file: and a repeated one are skipped with a reason; order is kept; a name of the wrong type is dropped.',
    'ROOTS-18': 'Unknown members and nextCursor are tolerated.',
  },
  'MCP 2025-11-25, client/roots, "Security Considerations"': {
    'ROOTS-21': {
      text: 'A root that is missing, no directory or not accessible is unusable with a reason; the others are used.',
      apart: 'The file system is asked, not the client.',
    },
    'ROOTS-22': {
      text: 'A root that disappears later is noticed when it is used.',
      apart: 'The file system is asked, not the client.',
    },
    'BOUND-01': {
      text: 'A path is inside a root by its real path and by whole segments: /a/b does not contain /a/bc.',
      apart: 'A question about a path, not about a message.',
    },
    'BOUND-02': {
      text: 'A link that leads out of the roots is refused, and checked again at open.',
      apart: 'The file system is asked, not the client.',
    },
    'BOUND-03': {
      text: 'A path that is not there yet is judged by its nearest existing ancestor.',
      apart: 'A question about a path, not about a message.',
    },
  },
};
