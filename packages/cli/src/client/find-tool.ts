/** Finds a tool by the name that a user typed, and explains missing tools. */
import type { FoundTool, MergedTool, Servers } from 'mcp-actors/client';
import { headlineOf } from 'mcp-actors';
import { closestMatch } from 'mcp-actors/internal';
import { UsageError } from '../command.ts';
import { describeFailure } from './exit-codes.ts';

/** Timeout for listing the tools of several servers, milliseconds. */
export const listingMs = 3000;

/** Maximum number of names listed after an unknown name. */
const maxShown = 10;

/**
 * Finds a tool by its name in the merged list, or by its original name if only one server has such
 * a tool. Waits only for servers that could have it.
 *
 * @param say receives a line about each pending server after three seconds, and about servers that
 *   may have the tool too
 * @throws {UsageError} if there is no such tool, or several
 * @throws {RuntimeError} as `Servers.findTools`; or the failure of a server if none has tools
 */
export async function findTool(
  servers: Servers,
  wanted: string,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<FoundTool> {
  const timer = setTimeout(() => describeMissingTools(servers).forEach(say), listingMs);
  const found = await servers.findTools(wanted, { signal }).finally(() => clearTimeout(timer));
  const [first, ...others] = found;
  if (first && others.length === 0) {
    // Without a server prefix, a missing server's tool may have been meant.
    if (first.tool === wanted) describeMissingTools(servers).forEach(say);
    return first;
  }
  const name = JSON.stringify(wanted);
  if (first) {
    const names = found.map(({ listed, tool }) => listed?.name ?? tool).join(', ');
    throw new UsageError(`Several servers have a tool ${name}: use one of ${names}`);
  }
  describeMissingTools(servers).forEach(say);
  const { tools, status } = servers;
  const broken = [...status.values()].find(({ error }) => error !== undefined);
  if (tools.length === 0 && broken) throw broken.error as Error;
  throw new UsageError(`Unknown tool ${name}. ${adviceFor(tools, wanted)}`);
}

/**
 * Describes each server whose tools are missing or cached. Invalid entries were reported before.
 */
export function describeMissingTools(servers: Servers): readonly string[] {
  return [...servers.status].flatMap(([name, { state, error, tools }]) => {
    if (servers.faults.some(({ server }) => server === name)) return [];
    if (state === 'failed') return [`${name}: ${describeFailure(error)}`];
    if (tools.state === 'failed')
      return [`${name}: its tools could not be listed. ${tools.reason}`];
    const dump = servers.get(name)?.dump();
    if (tools.state !== 'asking' || !dump) return [];
    const { sentence } = headlineOf(dump);
    return [`${name} has not answered for ${(dump.ageMs / 1000).toFixed(1)} s: ${sentence}`];
  });
}

function adviceFor(tools: readonly MergedTool[], wanted: string): string {
  if (tools.length === 0) return 'No tools are available';
  const near = closestMatch(
    wanted,
    tools.flatMap(({ name, tool }) => [name, tool]),
  );
  if (near !== undefined) return `Did you mean ${near}?`;
  const some = tools.slice(0, maxShown).map(({ name }) => name);
  return `Available: ${some.join(', ')}${tools.length > some.length ? ', …' : ''}`;
}
