import { ErrorCode, errorResponse, textOfError } from '../../../../src/protocol/errors.ts';
import type { RequestId } from '../../../../src/protocol/frames.ts';
import { httpError } from '../checks.ts';
import { formatReport } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import type { HttpAnswer } from '../http-exchange.ts';
import { StoreUnavailable } from '../nodes/stores.ts';

/** Error response for a request that failed because of the store or another node. */
export function unavailable(error: unknown, report: HttpReport): HttpAnswer {
  if (error instanceof StoreUnavailable) {
    const seconds = Math.max(1, Math.ceil(error.retryAfterMs / 1000));
    const message = `The other nodes cannot be reached (${error.message}); try again`;
    return httpError(503, message, { 'retry-after': `${seconds}` });
  }
  const message = `A request that needed other nodes failed: ${textOfError(error)}`;
  report({ level: 'error', name: 'nodes.failed', message, details: { error } });
  return httpError(500, 'The server failed');
}

/** Error handler for background work: reports the failure. */
export function reportUnavailable(report: HttpReport, what: string): (error: unknown) => void {
  return (error) => {
    const message = `${what}: ${textOfError(error)}`;
    if (error instanceof StoreUnavailable) {
      return formatReport(report, 'warning', 'nodes.unavailable', message);
    }
    report({ level: 'error', name: 'nodes.failed', message, details: { error } });
  };
}

/**
 * Error response for a request whose process ended, or whose response was lost, so that its effects
 * are unknown.
 */
export function processEnded(id: RequestId): object {
  return errorResponse(id as Parameters<typeof errorResponse>[0], {
    code: ErrorCode.serverUnavailable,
    message: 'The process that served this request has ended, or its response was lost',
    data: { reason: 'process-ended', retryable: true },
  });
}
