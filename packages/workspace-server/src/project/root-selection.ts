/** Resolves the `root` argument of a tool call. */
import { resolve } from 'node:path';
import { checkDirectory, printable, quoted, readFileUri } from 'mcp-actors/internal';
import { ToolError } from 'mcp-actors';
import type { UsableRoot } from './project.ts';

/**
 * Finds the root with a name, URI or path. Default: the first root.
 *
 * @param usable not empty
 * @throws {ToolError} UNKNOWN_ROOT or AMBIGUOUS_ROOT, listing the roots
 */
export async function selectRoot(
  usable: readonly [UsableRoot, ...UsableRoot[]],
  asked: string | undefined,
): Promise<UsableRoot> {
  if (asked === undefined) return usable[0];
  const [named, second] = usable.filter(({ name }) => name === asked);
  if (named !== undefined && second === undefined) return named;
  if (named !== undefined) {
    const message = `Several roots are named ${quoted(asked)}; choose by URI or path. ${listRoots(usable)}`;
    throw new ToolError(message, { code: 'AMBIGUOUS_ROOT' });
  }
  const path = await pathOf(asked);
  const found = usable.find((root) => root.uri === asked || root.path === path);
  if (found !== undefined) return found;
  throw new ToolError(`Unknown root ${quoted(asked)}. ${listRoots(usable)}`, {
    code: 'UNKNOWN_ROOT',
  });
}

async function pathOf(asked: string): Promise<string | undefined> {
  const reading = readFileUri(asked);
  const path = reading.ok ? reading.path : asked;
  // Roots have absolute paths without NUL.
  if (path !== resolve(path) && `${resolve(path)}/` !== path) return undefined;
  const check = await checkDirectory(path);
  return check.ok ? check.path : undefined;
}

/** Names and paths of the first twenty roots, for a message. */
function listRoots(usable: readonly UsableRoot[]): string {
  const listed = usable
    .slice(0, 20)
    .map(({ name, path }) => `${quoted(name)} (${printable(path)})`);
  const more = usable.length > 20 ? `, and ${usable.length - 20} more` : '';
  return `Roots: ${listed.join(', ')}${more}.`;
}
