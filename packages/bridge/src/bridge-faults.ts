/** Log facts of a bridge's failed requests to its servers. */
import type { Fact } from '../../../src/actors/facts.ts';
import { RuntimeError, textOfError } from '../../../src/protocol/errors.ts';
import { quoted } from '../../../src/protocol/printable.ts';

/** A subscription failed after the client's was acknowledged. */
export function subscriptionFailed(uri: string, error: unknown): Fact {
  const message = `Subscription to ${quoted(uri)} failed: ${textOfError(error)}`;
  return { level: 'warning', name: 'bridge.subscription-failed', message, details: { error } };
}

/** An unsubscription failed. Logged at debug if the connection has ended. */
export function unsubscriptionFailed(uri: string, error: unknown): Fact {
  const hasEnded = error instanceof RuntimeError && ended.has(error.code);
  const message = `Unsubscribing from ${quoted(uri)} failed: ${textOfError(error)}`;
  const level = hasEnded ? 'debug' : 'warning';
  return { level, name: 'bridge.unsubscription-failed', message, details: { error } };
}

const ended: ReadonlySet<string> = new Set(['CLOSED', 'TRANSPORT_CLOSED', 'CANCELLED']);

/** A log level could not be set. */
export function logLevelFailed(server: string, error: unknown): Fact {
  const message = `Setting the log level of ${server} failed: ${textOfError(error)}`;
  return { level: 'warning', name: 'bridge.log-level-failed', message, details: { error } };
}
