/**
 * The eras of servers that were asked before, for as long as the process lives.
 *
 * @see MCP 2026-07-28, basic/versioning, "Backward Compatibility with Initialization-Based Versions"
 */
import type { EraKnowledge } from '../../machines/connection-context.ts';
import { BoundedMap } from '../../protocol/bounded-map.ts';

const remembered = new BoundedMap<string, EraKnowledge>(1024);
const unknown: EraKnowledge = { kind: 'unknown' };

/** What is known of a server under this key. */
export function knownEra(key: string | undefined): EraKnowledge {
  return (key === undefined ? undefined : remembered.get(key)) ?? unknown;
}

/** Remembers it for the connections that follow; `unknown` forgets it. */
export function rememberEra(key: string | undefined, era: EraKnowledge): void {
  if (key === undefined) return;
  if (era.kind === 'unknown') remembered.delete(key);
  else remembered.set(key, era);
}
