/** Every built-in event name of XState that this project relies on; version 6 renames them. */

/** Any child actor that failed. */
export const anyActorFailed = 'xstate.error.actor.*';

/** What an actor's logic receives last. */
export const actorStopped = 'xstate.stop';
