/** A tool by what a person calls it, and why some tools are not there. */
import type { FoundTool, MergedTool, Servers } from 'mcp-actors/client';
import { headlineOf } from 'mcp-actors';
import { closestMatch } from 'mcp-actors/internal';
import { UsageError } from '../command.ts';
import { textOfFailure } from './exit-codes.ts';

/** How long a list of the tools of many servers is waited for, milliseconds. */
export const listingMs = 3000;

/** How many names are shown after a wrong one. */
const maxShown = 10;

/**
 * Finds the tool with this name in the merged list, or with this own name if only one server has
 * such a tool. Waits only for servers that could have it.
 *
 * @param say told after three seconds which servers are waited for, and which may have such a tool
 *   too
 * @throws {UsageError} there is no such tool, or there are several
 * @throws {RuntimeError} as `Servers.findTools`; why a server has failed, if no server has any
 *   tools
 */
export async function findTool(
  servers: Servers,
  wanted: string,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<FoundTool> {
  const timer = setTimeout(() => absencesOf(servers).forEach(say), listingMs);
  const found = await servers.findTools(wanted, { signal }).finally(() => clearTimeout(timer));
  const [first, ...others] = found;
  if (first && others.length === 0) {
    // It was named without its server, so another one could have been meant.
    if (first.tool === wanted) absencesOf(servers).forEach(say);
    return first;
  }
  const name = JSON.stringify(wanted);
  if (first) {
    const names = found.map(({ listed, tool }) => listed?.name ?? tool).join(', ');
    throw new UsageError(`Several servers have a tool ${name}: write one of ${names}`);
  }
  absencesOf(servers).forEach(say);
  const { tools, status } = servers;
  const broken = [...status.values()].find(({ error }) => error !== undefined);
  if (tools.length === 0 && broken) throw broken.error as Error;
  throw new UsageError(`There is no tool ${name}. ${adviceFor(tools, wanted)}`);
}

/**
 * A line for each server whose tools are missing or come from the cache, with the reason. Faults of
 * entries were printed before.
 */
export function absencesOf(servers: Servers): readonly string[] {
  return [...servers.status].flatMap(([name, { state, error, tools }]) => {
    if (servers.faults.some(({ server }) => server === name)) return [];
    if (state === 'failed') return [`${name}: ${textOfFailure(error)}`];
    if (tools.state === 'failed') return [`${name}: its tools are not known. ${tools.reason}`];
    const dump = servers.get(name)?.dump();
    if (tools.state !== 'asking' || !dump) return [];
    const { sentence } = headlineOf(dump);
    return [`${name} is late, after ${(dump.ageMs / 1000).toFixed(1)} s: ${sentence}`];
  });
}

function adviceFor(tools: readonly MergedTool[], wanted: string): string {
  if (tools.length === 0) return 'There are none';
  const near = closestMatch(
    wanted,
    tools.flatMap(({ name, tool }) => [name, tool]),
  );
  if (near !== undefined) return `Did you mean ${near}?`;
  const some = tools.slice(0, maxShown).map(({ name }) => name);
  return `There are ${some.join(', ')}${tools.length > some.length ? ', …' : ''}`;
}
