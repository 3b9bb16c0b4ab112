/** Suggests existing paths for one that does not exist. */
import { relative, resolve, sep } from 'node:path';
import { basename, dirname, extname } from 'node:path/posix';
import { similarity, quoted } from 'mcp-actors/internal';
import { ToolError } from 'mcp-actors';
import type { HandlerContext } from 'mcp-actors';
import type { EnteredRoot, Workspace } from '../project/workspace.ts';
import { delimitedRecords } from '../search/ripgrep-output.ts';
import { ripgrep, ripgrepArguments } from '../search/ripgrep.ts';

const maxSuggestions = 3;
/** Time limit, because the caller is waiting for an error, ms. */
const timeoutMs = 1000;

export interface CallScope {
  readonly workspace: Workspace;
  readonly entered: EnteredRoot;
  readonly context: HandlerContext;
}

/**
 * Extends a `NOT_FOUND` error with the most similar paths: files of the same name elsewhere in the
 * root, and similar names in the same directory. Other errors are returned unchanged.
 *
 * @throws the reason of the context's signal
 */
export async function addSuggestions(
  error: ToolError,
  given: string,
  scope: CallScope,
): Promise<ToolError> {
  if (error.code !== 'NOT_FOUND') return error;
  const near = await suggestPaths(given, scope);
  scope.context.signal.throwIfAborted();
  const hint =
    near.length === 0
      ? 'use list_directory to see what exists'
      : `did you mean ${near.map((path) => quoted(path, Infinity)).join(' or ')}?`;
  return new ToolError(`${error.message}; ${hint}`, { code: 'NOT_FOUND', cause: error });
}

interface Candidate {
  readonly path: string;
  readonly score: number;
}

async function suggestPaths(given: string, scope: CallScope): Promise<readonly string[]> {
  const { workspace, entered, context } = scope;
  const { root } = entered;
  const written = relative(root.path, resolve(root.path, given)).replaceAll(sep, '/');
  const best: Candidate[] = [];
  const look = async (signal: AbortSignal, deadline: AbortSignal) => {
    const args = ['--files', '--null', '--hidden', '--glob=!.git', '--', './'];
    const records = delimitedRecords('\0');
    const listing = ripgrep({
      args: [...ripgrepArguments, ...args],
      root,
      signal,
      deadline,
      records,
    });
    for await (const { bytes } of listing) {
      const path = bytes.toString().replace(/^\.\//, '');
      const score = scoreOf(path, written);
      if (score > 0) keepBest(best, { path, score });
    }
  };
  try {
    await workspace.search(entered, context, look, timeoutMs);
  } catch (error) {
    // Without ripgrep, a free slot or a root, report the error without suggestions.
    if (!(error instanceof ToolError)) throw error;
  }
  // If some candidate has the same name, drop the merely similar ones.
  const least = (best[0]?.score ?? 0) >= 1 ? 1 : 0;
  return best.filter(({ score }) => score >= least).map(({ path }) => path);
}

/** Best score first; equal scores in path order. */
function keepBest(best: Candidate[], candidate: Candidate): void {
  const isBetter = ({ path, score }: Candidate) =>
    candidate.score > score || (candidate.score === score && candidate.path < path);
  const at = best.findIndex(isBetter);
  best.splice(at === -1 ? best.length : at, 0, candidate);
  best.length = Math.min(best.length, maxSuggestions);
}

/** Similarity of two paths; 0 if unrelated. */
function scoreOf(path: string, written: string): number {
  const name = basename(written);
  if (basename(path).toLowerCase() === name.toLowerCase()) return 2 + commonTail(path, written);
  if (dirname(path) !== dirname(written)) return 0;
  // Ignore a common extension, which says nothing about similarity.
  const kind = extname(path) === extname(name) ? extname(name) : '';
  return similarity(basename(path, kind), basename(name, kind));
}

/** Number of trailing segments two paths have in common. */
function commonTail(path: string, written: string): number {
  const [a, b] = [path, written].map((text) => text.toLowerCase().split('/').toReversed());
  const differing = (a ?? []).findIndex((segment, at) => segment !== b?.[at]);
  return differing === -1 ? (a ?? []).length : differing;
}
