/** A tool by what a person calls it. */
import type { MergedTool } from '../../client/hosts/server-reports.ts';
import { nearest } from '../../protocol/nearest.ts';
import { UsageError } from '../command.ts';

/** So many names are shown to who has given none that is right. */
const maxShown = 10;

/**
 * The tool with this name in the merged list, or with this name of its own, if only one server has
 * such a tool.
 *
 * @throws {UsageError} there is none, or several
 */
export function findTool(tools: readonly MergedTool[], wanted: string): MergedTool {
  const merged = tools.find(({ name }) => name === wanted);
  if (merged) return merged;
  const [own, ...others] = tools.filter(({ tool }) => tool === wanted);
  if (own && others.length === 0) return own;
  if (own) {
    const names = [own, ...others].map(({ name }) => name).join(', ');
    throw new UsageError(
      `Several servers have a tool ${JSON.stringify(wanted)}: write one of ${names}`,
    );
  }
  throw new UsageError(`There is no tool ${JSON.stringify(wanted)}. ${adviceFor(tools, wanted)}`);
}

function adviceFor(tools: readonly MergedTool[], wanted: string): string {
  if (tools.length === 0) return 'There are none';
  const near = nearest(
    wanted,
    tools.flatMap(({ name, tool }) => [name, tool]),
  );
  if (near !== undefined) return `Did you mean ${near}?`;
  const some = tools.slice(0, maxShown).map(({ name }) => name);
  return `There are ${some.join(', ')}${tools.length > some.length ? ', …' : ''}`;
}
