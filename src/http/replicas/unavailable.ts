import { textOfError } from '../../protocol/errors.ts';
import { fault } from '../checks.ts';
import { reportInWords } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { HttpAnswer } from '../http-exchange.ts';
import { StoreUnavailable } from '../nodes/stores.ts';

/** The session has ended at all nodes. */
export class SessionGone extends Error {
  override readonly name = 'SessionGone';
}

/** What a request is answered with that needed other nodes in vain. */
export function unavailable(error: unknown, report: HttpReport): HttpAnswer {
  if (error instanceof SessionGone) return fault(404, error.message);
  if (error instanceof StoreUnavailable) {
    const seconds = Math.max(1, Math.ceil(error.retryAfterMs / 1000));
    const message = `The other nodes cannot be reached (${error.message}); try again`;
    return fault(503, message, { 'retry-after': `${seconds}` });
  }
  const message = `A request that needed other nodes failed: ${textOfError(error)}`;
  report({ level: 'error', name: 'nodes.failed', message, details: { error } });
  return fault(500, 'The server failed');
}

/** For what nobody waits for: says that it did not come to pass. */
export function reportUnavailable(report: HttpReport, what: string): (error: unknown) => void {
  return (error) => {
    if (error instanceof StoreUnavailable || error instanceof SessionGone) {
      return reportInWords(report, 'warning', 'nodes.unavailable', `${what}: ${error.message}`);
    }
    const message = `${what}: ${textOfError(error)}`;
    report({ level: 'error', name: 'nodes.failed', message, details: { error } });
  };
}
