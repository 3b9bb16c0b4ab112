/** Invariants of a server at a URL: the general ones and those specific to HTTP. */
import { isStateless } from '../outgoing.ts';
import { always, untried } from './invariant.ts';
import type { Invariant } from './invariant.ts';
import { httpInvariants, httpSessionInvariants } from './http.ts';
import { httpModernInvariants } from './http-modern.ts';
import { sessionStreamInvariants, streamInvariants } from './http-streams.ts';

const process = 'a server over stdio: over HTTP its process is invisible';
const closing =
  'a server over stdio: over HTTP the client cancels by closing the stream and receives nothing more';

/** Invariants that cannot be tested over HTTP, with the reason. */
const untestableOverHttp: { readonly [id: string]: string } = {
  stdout: 'a server over stdio: HTTP has no lines; see http-messages',
  ends: process,
  'ends-well': process,
  'answers-before-end': process,
  rush: 'a server over stdio: over HTTP each message is a separate request that needs the session id from initialize',
};

const untestableModern: { readonly [id: string]: string } = {
  'cancelled-silent': closing,
  'cancelled-zero': closing,
  'unlistened-silent': closing,
  'invalid-cancel-ignored':
    'a server over stdio: over HTTP this revision has no cancellation messages',
};

const noRequests = always(
  'MUST',
  'basic/transports/streamable-http',
  'Receiving Messages',
  'The server MUST NOT send independent JSON-RPC requests on this stream.',
);

/** @param others invariants of every server of the revision */
export function httpVariants(others: readonly Invariant[], revision: string): readonly Invariant[] {
  const isModern = isStateless(revision);
  const reasons = isModern ? { ...untestableOverHttp, ...untestableModern } : untestableOverHttp;
  const kept = others.map((invariant): Invariant => {
    const { id } = invariant;
    const needs = reasons[id];
    if (needs !== undefined) return { ...invariant, needs, judge: () => untried };
    return id === 'no-requests' ? { ...invariant, demanded: noRequests } : invariant;
  });
  return [...kept, ...(isModern ? modernOverHttp : sessionOverHttp)];
}

/** HTTP-only invariants of revisions with a handshake. */
const sessionOverHttp: readonly Invariant[] = [
  ...httpInvariants,
  ...httpSessionInvariants,
  ...streamInvariants,
  ...sessionStreamInvariants,
];

/** HTTP-only invariants of the stateless era. */
const modernOverHttp: readonly Invariant[] = [
  ...httpInvariants,
  ...streamInvariants,
  ...httpModernInvariants,
];

/** Every invariant judged only over HTTP. */
export const onlyOverHttp: readonly Invariant[] = [
  ...new Set([...sessionOverHttp, ...modernOverHttp]),
];
