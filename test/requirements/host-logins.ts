/** How a host logs in at the authorization server of a server over HTTP. */
import type { Demands } from './demands.ts';

export const hostLogins: Demands = {
  'MCP 2025-11-25, basic/authorization, "Access Token Usage"': {
    'LOGIN-01':
      'A token goes with each request to the origin of its server, in the Authorization header, and to no other.',
  },
  'MCP 2025-11-25, basic/authorization, "Authorization Code Protection"': {
    'LOGIN-02': 'An authorization server whose metadata do not promise PKCE with S256 is refused.',
  },
  'MCP 2025-11-25, basic/authorization, "Open Redirection"': {
    'LOGIN-03': 'An answer with another state than the one that was sent is refused.',
  },
  'MCP 2025-11-25, basic/authorization, "Communication Security"': {
    'LOGIN-04': 'No secret is sent to a URL without https, but for loopback.',
  },
  'MCP 2025-11-25, basic/authorization, "Scope Challenge Handling"': {
    'LOGIN-05':
      'A scope that is missing is asked for with those that there are, and not again if it is not given.',
  },
  'MCP 2025-11-25, basic/authorization, "Resource Parameter Implementation"': {
    'LOGIN-06': 'A token is asked for by the name of the resource, and for no other resource.',
  },
  'MCP 2026-07-28, basic/authorization, "Authorization Response Validation"': {
    'LOGIN-07': 'An answer of another issuer, or without one that was promised, is refused.',
  },
  'MCP 2026-07-28, basic/authorization, "Client Registration"': {
    'LOGIN-08': 'What one issuer has given is never shown to another.',
  },
  ours: {
    'LOGIN-09': 'Nobody is asked to log in unless the host allows it.',
    'LOGIN-10': 'Requests, connections and processes that share a store wait for one refresh.',
    'LOGIN-11':
      'A refresh that fails deletes nothing, unless the very token that is kept is said to be spent.',
    'LOGIN-12': 'No error of a login holds a secret.',
    'LOGIN-13': 'The address on loopback takes one answer: a navigation with the right state.',
    'LOGIN-14': 'Files of credentials are for their owner alone.',
  },
};
