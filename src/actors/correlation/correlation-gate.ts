/** When requests may be sent, and what is said of those that may not. */
import type { PeerRequest, PeerRole, RequestFailure } from '../../machines/peer-ports.ts';
import { Method } from '../../protocol/methods.ts';
import type { Pending } from './pending-request.ts';
import type { PendingRequests } from './pending-requests.ts';

/**
 * New requests are held until the peer may be asked, then sent; at the end they are refused. A host
 * is `away` while it has no channel, and `greeting` until the handshake over one is done.
 */
export type Gate =
  | { readonly state: 'unopened' | 'away' | 'greeting' | 'open' }
  | { readonly state: 'closed'; readonly error: RequestFailure };

export const unopened: Gate = { state: 'unopened' };
export const away: Gate = { state: 'away' };
export const greeting: Gate = { state: 'greeting' };
export const opened: Gate = { state: 'open' };

export interface RequestBounds {
  /** Requests that may be pending at once. */
  readonly maxPending: number;
  /** Of them, those that may wait for the gate to be opened. They have no bound of their own if it is missing. */
  readonly maxWaitingAway?: number;
}

/** Why a request is not taken; undefined if it is. */
export function refusalOf(
  { method, isHandshake, whenAway }: PeerRequest,
  gate: Gate,
  books: PendingRequests,
  { limits, peer }: { readonly limits: RequestBounds; readonly peer: PeerRole },
): RequestFailure | undefined {
  if (gate.state === 'closed') return gate.error;
  const { maxPending, maxWaitingAway = Infinity } = limits;
  // A ping passes: whether the peer is there must be known also when it owes many answers.
  if (books.size >= maxPending && method !== Method.ping) {
    const message = `${maxPending} requests to the ${peer} are pending, no more are sent until one ends`;
    return { code: 'LIMIT_EXCEEDED', message };
  }
  if (gate.state === 'open' || isHandshake) return undefined;
  if (whenAway === 'refuse') {
    return { code: 'NOT_READY', message: `${method} was not sent: the ${peer} is not connected` };
  }
  if (maxWaitingAway === Infinity || books.waiting.length < maxWaitingAway) return undefined;
  const message = `${method} was not sent: ${maxWaitingAway} requests wait already until the ${peer} is connected`;
  return { code: 'LIMIT_EXCEEDED', message };
}

/** What a request's time has passed without. */
export function missedBy({ method, state, request }: Pending, gate: Gate, peer: PeerRole): string {
  if (state === 'held' && gate.state !== 'unopened') {
    return `${method} was not sent: the ${peer} was not connected`;
  }
  return request.awaits === 'delivery'
    ? `The ${peer} has not taken ${method}`
    : `The ${peer} has not answered ${method}`;
}
