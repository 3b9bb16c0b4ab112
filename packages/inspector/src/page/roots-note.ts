/** Note beside the client's roots: their source, or why they are unknown. */
import type { SessionDump } from 'mcp-actors';
import { inWords } from 'mcp-actors/internal';

const sources = {
  known: 'From the client',
  undeclared: 'The client has no roots capability',
  unsupported: 'The client declares roots but does not answer roots/list',
  failed: 'The roots query failed; the last known roots remain in use',
};

/** @returns undefined if there is nothing to show */
export function rootsNote(roots: SessionDump['roots']): string | undefined {
  const { tags, status, settled, generation, problem, list } = roots;
  const isDeferred = tags.includes('deferred');
  if (status === undefined) {
    if (isDeferred) return `Not known; ${inWords.deferredRoots}.`;
    return tags.includes('asking') ? 'Requested; no answer yet.' : undefined;
  }
  if (status === 'undeclared' && list.length === 0) return undefined;
  const why = problem === undefined ? '' : `: ${problem}`;
  const none = list.length === 0 && status === 'known' ? '; the list is empty' : '';
  const renewed = settled ? '' : '; a newer list has been requested';
  const newer = isDeferred ? `; a newer list is ${inWords.deferredRoots}` : renewed;
  return `${sources[status]}${why}${none}${newer}. Generation ${generation}.`;
}
