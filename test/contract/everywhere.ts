/**
 * The revisions and transports that tests are run for. `requirements/citations.ts` reads the names that this gives.
 * Cross with what could change the behaviour: `eachTransport`, `eachByteTransport`, `eachRevision`, or every revision over every transport.
 * What neither could change stands in a plain `describe`: it is tested in the latest revision over memory.
 */
import { beforeEach, describe, expect, onTestFinished } from 'vitest';

/** The revisions of the legacy era, oldest first. */
export const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;

/** The revision without a handshake. */
export const modern = '2026-07-28';

export type Revision = (typeof revisions)[number] | typeof modern;

const latest: Revision = '2025-11-25';

/** Our own transports: they read bytes, answer what is no message, and know the end of the input from the end of the output. */
export const byteTransports = ['memory', 'stdio'] as const;

export const transportNames = [...byteTransports, 'SDK memory', 'SDK stdio'] as const;

/**
 * Streamable HTTP is a transport that no row demands by itself: `requirements/http-sessions.ts` and `http-stateless.ts` have rows of its own.
 * Left out over it, because HTTP does it differently on purpose and `packages/http/test` tests that: what comes before `initialize`, or with it (no message is
 * taken without a session; two messages are two POSTs), framing (a body is one message, and what is none has a status), flow (each stream has its own), and the end of the input
 * (there is none; a session ends with its DELETE).
 *
 * Its revisions begin with 2025-03-26: HTTP in 2024-11-05 is another transport, HTTP+SSE, and `packages/http/test/legacy/sse.test.ts` is its test.
 * What a revision changes of it is that a POST may have a batch (2025-03-26), that requests name the revision (from 2025-06-18 on), and that streams
 * begin with an event which can be resumed (from 2025-11-25 on). So what is told in a revision's own way runs in each of them; what a stream could lose
 * or keep runs in the oldest and in the latest; ids, bounds and orders run in the latest alone.
 */
export type TransportName = (typeof transportNames)[number] | 'HTTP';

export interface Combination {
  readonly revision: Revision;
  readonly transport: TransportName;
}

/** Every revision over every transport. */
const combinations = combine(revisions, transportNames);

/** Every revision over our own transports. */
export const byteCombinations = combine(revisions, byteTransports);

/** The latest revision over every transport: for what is decided before a revision matters, as order, cancellation and bounds are. */
export const eachTransport = combine([latest], transportNames);

/** The same, and over HTTP: for what a client in a session hears over HTTP as well, whichever stream it comes on. */
export const eachTransportAndHttp = combine([latest], [...transportNames, 'HTTP']);

/** The same, and over HTTP in the oldest revision that has it: for what is said, or taken back, on a stream that could not be resumed there. */
export const eachTransportAndStreams = [
  ...eachTransportAndHttp,
  ...combine(['2025-03-26'], ['HTTP']),
];

/** The latest revision over our own transports: for framing, back-pressure and the end of the input. */
export const eachByteTransport = combine([latest], byteTransports);

/** Every revision over one transport: for what a revision's clients are told in their own way. */
export const eachRevision = combine(revisions, ['memory']);

/** The revisions that have Streamable HTTP and its sessions, over it. */
const overHttp = combine(['2025-03-26', '2025-06-18', '2025-11-25'], ['HTTP']);

/** Every revision over memory, and over HTTP if it has that: for what is told in a revision's own way, on the stream that it belongs to. */
export const eachRevisionAndHttp = [...eachRevision, ...overHttp];

/** Every revision over what can carry a batch: our own transports, and a POST. */
export const batchCombinations = [...byteCombinations, ...overHttp];

/** The latest revision over memory and over HTTP: for what could differ only in the stream that it comes on. */
export const memoryAndHttp = combine([latest], ['memory', 'HTTP']);

/** The revision without a handshake over every transport. */
export const modernEverywhere = combine([modern], transportNames);

/** The same, and over HTTP: for calls, whose requests have headers there and no session. */
export const modernEverywhereAndHttp = combine([modern], [...transportNames, 'HTTP']);

/** The revision without a handshake over our own transports. */
export const modernOverBytes = combine([modern], byteTransports);

/** The combinations of one revision. */
export const only = (one: Revision, among: readonly Combination[] = combinations) =>
  among.filter(({ revision }) => revision === one);

/** The combinations of the revisions but one. */
export const except = (one: Revision, among: readonly Combination[] = combinations) =>
  among.filter(({ revision }) => revision !== one);

/** The combinations of the revisions from one on. */
export const since = (first: Revision, among: readonly Combination[] = combinations) =>
  among.filter(({ revision }) => revision >= first);

/** The combinations of the revisions before one. */
export const before = (end: Revision, among: readonly Combination[] = combinations) =>
  among.filter(({ revision }) => revision < end);

function combine(versions: readonly Revision[], names: readonly TransportName[]) {
  return versions.flatMap((revision) => names.map((transport) => ({ revision, transport })));
}

let current: Combination | undefined;
let served: { readonly transport: TransportName; readonly revision: string | undefined }[] = [];

/** What the test that runs is run for; what `serve` and `operate` take where they are told nothing else. */
export function combinationUnderTest(): Combination | undefined {
  return current;
}

/** Notes what a session of the test was: a test that is run for a combination must have served it. */
export function noteServed(transport: TransportName, revision: string | undefined): void {
  served.push({ transport, revision });
}

type Body = (combination: Combination) => void;

/** `describe`, for every revision over every transport. */
export function everywhere(name: string, body: Body): void;
/** `describe`, for each of these. */
export function everywhere(name: string, among: readonly Combination[], body: Body): void;
export function everywhere(
  name: string,
  ...rest: readonly [Body] | readonly [readonly Combination[], Body]
): void {
  const [among, body] = rest.length === 1 ? [combinations, ...rest] : rest;
  describe.each(among)(`${name} in $revision over $transport`, (combination) => {
    beforeEach(() => {
      current = combination;
      served = [];
      // What was hooked first is run last: the sessions have been noted by then.
      onTestFinished(() => {
        current = undefined;
        const { revision, transport } = combination;
        const negotiated = served.filter((one) => one.revision !== undefined);
        const sessions = negotiated.length > 0 ? negotiated : served;
        expect(sessions).toContainEqual({
          transport,
          revision: negotiated.length > 0 ? revision : undefined,
        });
      });
    });
    body(combination);
  });
}
