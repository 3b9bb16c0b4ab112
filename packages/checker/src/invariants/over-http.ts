/** The invariants of a server at a URL: those of every server, and those of HTTP. */
import { isStateless } from '../outgoing.ts';
import { always, untried } from './invariant.ts';
import type { Invariant } from './invariant.ts';
import { httpInvariants, httpSessionInvariants } from './http.ts';
import { httpModernInvariants } from './http-modern.ts';
import { sessionStreamInvariants, streamInvariants } from './http-streams.ts';

const process = 'a server over stdio: over HTTP its process is not seen';
const closing =
  'a server over stdio: over HTTP the client cancels by closing the stream, and hears nothing more';

/** What cannot be tried over HTTP, and why. */
const beyond: { readonly [id: string]: string } = {
  stdout:
    'a server over stdio: over HTTP there are no lines, and http-messages looks at what comes',
  ends: process,
  'ends-well': process,
  'answers-before-end': process,
  rush: 'a server over stdio: over HTTP each message is a request of its own, and needs the session that initialize gives',
};

const beyondModern: { readonly [id: string]: string } = {
  'cancelled-silent': closing,
  'cancelled-zero': closing,
  'unlistened-silent': closing,
  'invalid-cancel-ignored':
    'a server over stdio: over HTTP no cancellation is sent as a message in this revision',
};

const noRequests = always(
  'MUST',
  'basic/transports/streamable-http',
  'Receiving Messages',
  'The server MUST NOT send independent JSON-RPC requests on this stream.',
);

/** @param others those of every server of the revision */
export function overHttp(others: readonly Invariant[], revision: string): readonly Invariant[] {
  const isModern = isStateless(revision);
  const reasons = isModern ? { ...beyond, ...beyondModern } : beyond;
  const kept = others.map((invariant): Invariant => {
    const { id } = invariant;
    const needs = reasons[id];
    if (needs !== undefined) return { ...invariant, needs, judge: () => untried };
    return id === 'no-requests' ? { ...invariant, demanded: noRequests } : invariant;
  });
  return [...kept, ...(isModern ? modernOverHttp : sessionOverHttp)];
}

/** Only over HTTP, of the revisions with a handshake. */
const sessionOverHttp: readonly Invariant[] = [
  ...httpInvariants,
  ...httpSessionInvariants,
  ...streamInvariants,
  ...sessionStreamInvariants,
];

/** Only over HTTP, of the stateless era. */
const modernOverHttp: readonly Invariant[] = [
  ...httpInvariants,
  ...streamInvariants,
  ...httpModernInvariants,
];

/** Every invariant that is judged over HTTP alone. */
export const onlyOverHttp: readonly Invariant[] = [
  ...new Set([...sessionOverHttp, ...modernOverHttp]),
];
