/** Asks a client for its roots where there is no machine that does: as one question among others. */
import type { Exchange, RequestSpec } from '../actors/exchange.ts';
import type { RootsReport, RootsResolver } from '../machines/roots-report.ts';
import { undeclaredRoots } from '../machines/roots.machine.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { Method } from '../protocol/methods.ts';
import { declaresRoots, readRootsResult } from '../protocol/roots.ts';

/** @param ask puts the question; it waits as long as what it is asked for */
export async function askForRoots(
  { peer, signal }: Pick<Exchange, 'peer' | 'signal'>,
  ask: (question: RequestSpec) => Promise<JsonObject>,
  resolve: RootsResolver | undefined,
): Promise<RootsReport> {
  if (!declaresRoots(peer.capabilities)) return undeclaredRoots;
  const result = await ask({
    method: Method.rootsList,
    timeoutMs: Infinity,
    maxTotalMs: Infinity,
  });
  const reading = readRootsResult(result);
  const listed = reading.ok ? reading.roots : [];
  const roots = resolve ? await resolve(listed, signal) : listed;
  return { status: 'known', generation: 1, settled: true, roots };
}
