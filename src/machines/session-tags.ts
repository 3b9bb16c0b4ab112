/**
 * What the states of a session mean to those outside of its machine: they ask for tags, not for
 * names.
 */

export const sessionTags = [
  /** The client has not said who it is. */
  'awaitsInitialize',
  /** The client has not said that it is ready: nothing may be asked of it. */
  'awaitsInitialized',
  /** Either side may ask and notify the other. */
  'operating',
  /** Each request says who its client is, and nothing is sent that belongs to none. */
  'stateless',
  /** The session ends: calls may still end by themselves. */
  'settling',
  /** The session ends: the calls that still ran were cancelled, and clean up. */
  'aborting',
  /** The session ends: the rest of the output is written. */
  'flushing',
  'closed',
] as const;

export type SessionTag = (typeof sessionTags)[number];
