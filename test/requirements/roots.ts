/** Roots, and what is inside of them. */
import { of } from './demands.ts';
import type { Demands } from './demands.ts';

const rows: Demands = {
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

/** What comes of a query depends on what else comes, and in which order. */
export const roots: Demands = of({ by: 'transport' }, rows);
