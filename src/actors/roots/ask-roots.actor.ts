/**
 * Asks the client for its roots and resolves them, as one step: the list and its resolution are
 * published together.
 *
 * @see MCP 2025-11-25, client/roots, "Listing Roots"
 */
import { fromPromise } from 'xstate';
import type { PromiseActorLogic } from 'xstate';
import type { AskInput, AskOutcome } from '../../machines/roots.machine.ts';
import { ErrorCode, RuntimeError } from '../../protocol/errors.ts';
import { Method } from '../../protocol/methods.ts';
import { readRootsResult } from '../../protocol/roots.ts';
import type { RootsResolver } from '../../machines/roots-report.ts';
import { requestClient } from '../correlation/client-request.ts';

/** The `ask` of the roots machine over a legacy session. */
export function askRootsActor(
  resolverOf: (input: AskInput) => RootsResolver | undefined,
): PromiseActorLogic<AskOutcome, AskInput> {
  return fromPromise(async ({ input, signal }) => {
    const { correlation, timeoutMs } = input;
    const spec = { method: Method.rootsList, timeoutMs, maxTotalMs: timeoutMs, signal };
    try {
      const reading = readRootsResult(
        await requestClient(correlation, spec, { inBackground: true }),
      );
      if (!reading.ok) {
        const message = `The client's roots are malformed: ${reading.fault}`;
        throw new RuntimeError('INVALID_RESPONSE', message);
      }
      const resolve = resolverOf(input);
      const roots = resolve ? await resolve(reading.roots, signal) : reading.roots;
      return { kind: 'answered', roots };
    } catch (error) {
      const isUnsupported =
        error instanceof RuntimeError && error.remote?.code === ErrorCode.methodNotFound;
      if (!isUnsupported) throw error;
      return { kind: 'unsupported', problem: error.message };
    }
  });
}
