/** The note beside the client's roots: where they come from, or why they are not known. */
import type { SessionDump } from 'mcp-actors';
import { inWords } from 'mcp-actors/internal';

const sources = {
  known: 'From the client',
  undeclared: 'The client has no roots capability',
  unsupported: 'The client declares roots and does not answer for them',
  failed: 'The client could not be asked; what was known before holds',
};

/** @returns undefined if there is nothing to say, and nothing to list */
export function rootsNote(roots: SessionDump['roots']): string | undefined {
  const { tags, status, settled, generation, problem, list } = roots;
  const isDeferred = tags.includes('deferred');
  if (status === undefined) {
    if (isDeferred) return `Not known; ${inWords.deferredRoots}.`;
    return tags.includes('asking') ? 'Asked for, not answered yet.' : undefined;
  }
  if (status === 'undeclared' && list.length === 0) return undefined;
  const why = problem === undefined ? '' : `: ${problem}`;
  const none = list.length === 0 && status === 'known' ? '; the list is empty' : '';
  const renewed = settled ? '' : '; a newer list is being asked for';
  const newer = isDeferred ? `; a newer list is ${inWords.deferredRoots}` : renewed;
  return `${sources[status]}${why}${none}${newer}. Generation ${generation}.`;
}
