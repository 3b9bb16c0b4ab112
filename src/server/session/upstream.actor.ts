/** Finds out what a server has for the client that has sent `initialize`. See `ServerDefinition.upstream`. */
import { fromPromise } from 'xstate';
import type { PromiseActorLogic } from 'xstate';
import type { UpstreamInput, UpstreamOutcome } from '../../machines/session-context.ts';
import { sessionIn } from './session-scope.ts';

/** The `preparation` of the session machine. */
export const upstreamActor: PromiseActorLogic<UpstreamOutcome, UpstreamInput> = fromPromise(
  ({ input, signal }) => sessionIn(input).resolveUpstream(input.received, signal),
);
