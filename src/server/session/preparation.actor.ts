/** Finds out what a server has for the client that has sent `initialize`. See `ServerDefinition.upstream`. */
import { fromPromise } from 'xstate';
import type { PromiseActorLogic } from 'xstate';
import type { PreparationInput, PreparationOutcome } from '../../machines/session-context.ts';
import { sessionIn } from './session-scope.ts';

/** The `preparation` of the session machine. */
export const preparationActor: PromiseActorLogic<PreparationOutcome, PreparationInput> =
  fromPromise(({ input, signal }) => sessionIn(input).prepare(input.received, signal));
