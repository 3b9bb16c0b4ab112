/** Reported failures of a bridge at one of its servers. */
import type { Fact } from '../../../src/actors/facts.ts';
import { RuntimeError, textOfError } from '../../../src/protocol/errors.ts';
import { quoted } from '../../../src/protocol/printable.ts';

/** The fact that a subscription failed although its client's was acknowledged. */
export function subscriptionFailed(uri: string, error: unknown): Fact {
  const message = `Subscription to ${quoted(uri)} failed: ${textOfError(error)}`;
  return { level: 'warning', name: 'bridge.subscription-failed', message, details: { error } };
}

/** The fact that an unsubscription failed. Logged at debug once the connection has ended. */
export function unsubscriptionFailed(uri: string, error: unknown): Fact {
  const hasEnded = error instanceof RuntimeError && ended.has(error.code);
  const message = `Unsubscribing from ${quoted(uri)} failed: ${textOfError(error)}`;
  const level = hasEnded ? 'debug' : 'warning';
  return { level, name: 'bridge.unsubscription-failed', message, details: { error } };
}

const ended: ReadonlySet<string> = new Set(['CLOSED', 'TRANSPORT_CLOSED', 'CANCELLED']);

/** The fact that a log level could not be set. */
export function logLevelFailed(server: string, error: unknown): Fact {
  const message = `Setting the log level of ${server} failed: ${textOfError(error)}`;
  return { level: 'warning', name: 'bridge.log-level-failed', message, details: { error } };
}
