/**
 * Requests the client's roots and resolves them in one step, so that the list and its resolution
 * are published together.
 *
 * @see MCP 2025-11-25, client/roots, "Listing Roots"
 */
import { fromPromise } from 'xstate';
import type { PromiseActorLogic } from 'xstate';
import type { AskInput, AskOutcome } from '../../machines/roots.machine.ts';
import { textLength } from '../../protocol/codec.ts';
import { ErrorCode, RuntimeError, textOfError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import { readRootsResult, rootsFailureOf } from '../../protocol/roots.ts';
import type { ListedRoot, Root, RootsResolver } from '../../protocol/roots.ts';
import { requestPeer } from '../correlation/peer-request.ts';
import type { ActorFactName, Report } from '../facts.ts';

export interface RootsQueryOptions {
  readonly resolve: RootsResolver | undefined;
  /** Returns the client's list, by calling `request` or from a cache. */
  list(request: () => Promise<JsonObject>): Promise<JsonObject>;
  /** Reserves memory for the list. @returns false if the bytes do not fit */
  reserve(bytes: number): boolean;
  readonly report: Report<ActorFactName>;
}

/** Implements the `ask` actor of the roots machine in a legacy session. */
export function rootsQueryActor(
  optionsOf: (input: AskInput) => RootsQueryOptions,
): PromiseActorLogic<AskOutcome, AskInput> {
  return fromPromise(async ({ input, signal }) => {
    const { correlation, timeoutMs, relatedTo } = input;
    const spec = { method: Method.rootsList, timeoutMs, maxTotalMs: timeoutMs, signal };
    try {
      const options = optionsOf(input);
      const request = () => requestPeer(correlation, spec, { inBackground: true, relatedTo });
      const reading = readRootsResult(await options.list(request));
      if (!reading.ok) {
        const message = `The client's roots are malformed: ${reading.fault}`;
        throw new RuntimeError('INVALID_RESPONSE', message);
      }
      const bytes = textLength(reading.roots);
      if (!options.reserve(bytes)) {
        const message = `The client's roots need ${bytes} bytes, which exceed its remaining maxRetainedBytes`;
        throw new RuntimeError('LIMIT_EXCEEDED', message);
      }
      const roots = await resolved(reading.roots, options, signal);
      return { kind: 'answered', roots };
    } catch (error) {
      const isUnsupported =
        error instanceof RuntimeError && error.remote?.code === ErrorCode.methodNotFound;
      if (!isUnsupported) throw error;
      return { kind: 'unsupported', problem: error.message, failure: rootsFailureOf(error) };
    }
  });
}

/** Resolves the list. A resolver that throws is a bug in the server, logged with its stack. */
async function resolved(
  listed: readonly ListedRoot[],
  { resolve, report }: RootsQueryOptions,
  signal: AbortSignal,
): Promise<readonly Root[]> {
  if (!resolve) return listed;
  try {
    return await resolve(listed, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    const problem = `The server could not resolve the roots: ${textOfError(error)}`;
    report({ level: 'error', name: 'resolver.failed', message: problem, details: { error } });
    // Wrapped, because a RuntimeError would be taken for a failed query.
    throw new Error(problem, { cause: error });
  }
}
