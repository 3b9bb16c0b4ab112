import { eventCases } from './events.ts';
import { mailboxCases } from './mailbox.ts';
import { sessionCases } from './sessions.ts';
import type { StoresCase } from './world.ts';

/**
 * The contract of what the nodes of an HTTP endpoint share.
 *
 * ```ts
 * describe('my stores', () => {
 *   for (const { name, check } of storesContract) test(name, () => check(openWorld));
 * });
 * ```
 */
export const storesContract: readonly StoresCase[] = [
  ...sessionCases,
  ...eventCases,
  ...mailboxCases,
];
