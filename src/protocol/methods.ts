import { inspectValue } from './classify.ts';
import { ErrorCode } from './errors.ts';
import type { WireError } from './frames.ts';

/** Method names used by the session core. Features define their own. */
export const Method = {
  initialize: 'initialize',
  discover: 'server/discover',
  ping: 'ping',
  listen: 'subscriptions/listen',
  subscriptionAcknowledged: 'notifications/subscriptions/acknowledged',
  initialized: 'notifications/initialized',
  cancelled: 'notifications/cancelled',
  progress: 'notifications/progress',
  rootsList: 'roots/list',
  rootsListChanged: 'notifications/roots/list_changed',
  resourceUpdated: 'notifications/resources/updated',
  logMessage: 'notifications/message',
  createMessage: 'sampling/createMessage',
  elicit: 'elicitation/create',
  elicitationComplete: 'notifications/elicitation/complete',
} as const;

/** The error for a method that this server does not offer. */
export function methodNotOffered(method: string): WireError {
  const message = `Method not found: ${inspectValue(method)} is not offered by this server`;
  return { code: ErrorCode.methodNotFound, message };
}
