/**
 * Asks the client for its roots and resolves them, as one step: the list and its resolution are published together.
 *
 * @see MCP 2025-11-25, client/roots, "Listing Roots"
 */
import { fromPromise } from 'xstate';
import type { PromiseActorLogic } from 'xstate';
import type { AskInput, AskOutcome } from '../machines/roots.machine.ts';
import { ErrorCode, RuntimeError } from '../protocol/errors.ts';
import { Method } from '../protocol/methods.ts';
import { readRootsResult } from '../protocol/roots.ts';
import type { Root } from '../protocol/roots.ts';
import { requestClient } from './client-request.ts';

/** Turns entries into directories, in order. */
export type ResolveRoots = (
  roots: readonly Root[],
  signal: AbortSignal,
) => Promise<readonly Root[]>;

/** The `ask` of the roots machine over a legacy session. */
export function askRootsActor(
  resolve: ResolveRoots | undefined,
): PromiseActorLogic<AskOutcome, AskInput> {
  return fromPromise(async ({ input: { correlation, timeoutMs }, signal }) => {
    try {
      const { result } = requestClient(correlation, {
        method: Method.rootsList,
        timeoutMs,
        maxTotalMs: timeoutMs,
        signal,
      });
      const reading = readRootsResult(await result);
      if (!reading.ok) {
        return { kind: 'failed', problem: `The client's roots are malformed: ${reading.fault}` };
      }
      const roots = resolve ? await resolve(reading.roots, signal) : reading.roots;
      return { kind: 'answered', roots };
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error;
      const kind = error.remote?.code === ErrorCode.methodNotFound ? 'unsupported' : 'failed';
      return { kind, problem: error.message };
    }
  });
}
