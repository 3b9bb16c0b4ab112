/** What may have been meant by a path at which there is nothing. */
import { relative, resolve, sep } from 'node:path';
import { basename, dirname, extname } from 'node:path/posix';
import { similarity, quoted } from 'mcp-actors/internal';
import { ToolError } from 'mcp-actors';
import type { HandlerContext } from 'mcp-actors';
import type { Entered, Workspace } from '../project/workspace.ts';
import { markedRecords } from '../search/ripgrep-output.ts';
import { ripgrep, ripgrepArguments } from '../search/ripgrep.ts';

const maxSuggestions = 3;
/** A caller who waits for an error is not made to wait long, milliseconds. */
const timeoutMs = 1000;

export interface Asking {
  readonly workspace: Workspace;
  readonly entered: Entered;
  readonly context: HandlerContext;
}

/**
 * A `NOT_FOUND` with the paths that are nearest to the one that was given: files of the same name
 * elsewhere in the root, and of a similar name beside it. Other errors stay as they are.
 *
 * @throws the reason of the context's signal
 */
export async function withNearest(
  error: ToolError,
  given: string,
  asking: Asking,
): Promise<ToolError> {
  if (error.code !== 'NOT_FOUND') return error;
  const near = await nearestPaths(given, asking);
  asking.context.signal.throwIfAborted();
  const hint =
    near.length === 0
      ? 'list_directory shows what is there'
      : `did you mean ${near.map((path) => quoted(path, Infinity)).join(' or ')}?`;
  return new ToolError(`${error.message}; ${hint}`, { code: 'NOT_FOUND', cause: error });
}

interface Candidate {
  readonly path: string;
  readonly score: number;
}

async function nearestPaths(given: string, asking: Asking): Promise<readonly string[]> {
  const { workspace, entered, context } = asking;
  const { root } = entered;
  const written = relative(root.path, resolve(root.path, given)).replaceAll(sep, '/');
  const best: Candidate[] = [];
  const look = async (signal: AbortSignal, deadline: AbortSignal) => {
    const args = ['--files', '--null', '--hidden', '--glob=!.git', '--', './'];
    const records = markedRecords('\0');
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
    // No ripgrep, no turn, a root that has gone: the error is the same without a suggestion.
    if (!(error instanceof ToolError)) throw error;
  }
  // If one is as good as the same, the merely similar ones were not meant.
  const least = (best[0]?.score ?? 0) >= 1 ? 1 : 0;
  return best.filter(({ score }) => score >= least).map(({ path }) => path);
}

/** The best come first; of two that are as good, the order of their paths decides. */
function keepBest(best: Candidate[], candidate: Candidate): void {
  const isBetter = ({ path, score }: Candidate) =>
    candidate.score > score || (candidate.score === score && candidate.path < path);
  const at = best.findIndex(isBetter);
  best.splice(at === -1 ? best.length : at, 0, candidate);
  best.length = Math.min(best.length, maxSuggestions);
}

/** 0 if the two are not alike. */
function scoreOf(path: string, written: string): number {
  const name = basename(written);
  if (basename(path).toLowerCase() === name.toLowerCase()) return 2 + sharedEnd(path, written);
  if (dirname(path) !== dirname(written)) return 0;
  // What all names of a kind end with makes none of them alike.
  const kind = extname(path) === extname(name) ? extname(name) : '';
  return similarity(basename(path, kind), basename(name, kind));
}

/** How many directories two paths have in common, counted from their ends. */
function sharedEnd(path: string, written: string): number {
  const [a, b] = [path, written].map((text) => text.toLowerCase().split('/').toReversed());
  const differing = (a ?? []).findIndex((segment, at) => segment !== b?.[at]);
  return differing === -1 ? (a ?? []).length : differing;
}
