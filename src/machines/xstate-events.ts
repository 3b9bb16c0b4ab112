/** Every built-in event name of XState that this project relies on; version 6 renames them. */

/** Any child actor that failed. */
export const anyActorFailed = 'xstate.error.actor.*';

/** What an actor's logic receives last. */
export const actorStopped = 'xstate.stop';

/** A readable name for XState's built-in events; other events keep their name. */
export function readableEvent(type: string): string {
  if (type === anyActorFailed) return 'actor failed';
  const [source, kind, subject, name] = type.split('.');
  if (source !== 'xstate') return type;
  if (kind === 'after') return `after ${subject}`;
  if (subject === 'state') return 'done';
  if (subject === 'actor') return `${name} ${kind === 'done' ? 'done' : 'failed'}`;
  return `${kind} ${subject}`;
}
