/**
 * What the states of a session mean outside its machine: code asks for tags, not for state names.
 */

export const sessionTags = [
  /** The client has not said who it is. */
  'awaitsInitialize',
  /** The client has not said that it is ready: no requests may be sent to it. */
  'awaitsInitialized',
  /** Both sides may send requests and notifications. */
  'operating',
  /** Each request identifies its client, and nothing is sent outside of requests. */
  'stateless',
  /** The session is ending: calls may still finish. */
  'settling',
  /** The session is ending: the remaining calls were cancelled, and clean up. */
  'aborting',
  /** The session is ending: the rest of the output is written. */
  'flushing',
  'closed',
] as const;

export type SessionTag = (typeof sessionTags)[number];
