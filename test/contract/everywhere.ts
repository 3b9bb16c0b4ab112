/**
 * The revisions and transports for which contract tests run. `requirements/citations.ts` reads the
 * names from here. Choose the combinations that could change the behaviour: `eachTransport`,
 * `eachByteTransport`, `eachRevision`, or every revision over every transport. Use a plain
 * `describe` if neither could: such tests run in the latest revision over memory.
 */
import { beforeEach, describe, expect, onTestFinished } from 'vitest';

/** The revisions of the legacy era, oldest first. */
export const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;

/** The revision without a handshake. */
export const modern = '2026-07-28';

export type Revision = (typeof revisions)[number] | typeof modern;

const latest: Revision = '2025-11-25';

/**
 * Our own transports: they read bytes, answer invalid messages, and distinguish the end of input
 * from the end of output.
 */
export const byteTransports = ['memory', 'stdio'] as const;

export const transportNames = [...byteTransports, 'SDK memory', 'SDK stdio'] as const;

/**
 * Streamable HTTP has rows of its own: `requirements/http-sessions.ts` and `http-stateless.ts`.
 * Left out over it, because HTTP differs on purpose and `packages/http/test` covers it: messages
 * before or together with `initialize` (no message is accepted without a session; two messages are
 * two POSTs), framing (a body is one message, and an invalid one has a status), flow control (per
 * stream), and the end of input (a session ends with its DELETE). Its revisions start with
 * 2025-03-26: 2024-11-05 has HTTP+SSE, tested by `packages/http/test/legacy/sse.test.ts`. Revisions
 * differ in batches in a POST (2025-03-26), version headers (from 2025-06-18 on) and resumable
 * first events (from 2025-11-25 on). So projections run in each revision; what a stream could lose
 * or keep runs in the oldest and the latest; ids, limits and orders run in the latest only.
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

/**
 * The latest revision over every transport: for behaviour independent of the revision, such as
 * order, cancellation and limits.
 */
export const eachTransport = combine([latest], transportNames);

/**
 * Like `eachTransport`, plus HTTP: for messages that a client in a session also gets over HTTP, on
 * any stream.
 */
export const eachTransportAndHttp = combine([latest], [...transportNames, 'HTTP']);

/**
 * Like the above, plus HTTP in its oldest revision: for messages on streams that could not be
 * resumed there.
 */
export const eachTransportAndStreams = [
  ...eachTransportAndHttp,
  ...combine(['2025-03-26'], ['HTTP']),
];

/** The latest revision over our own transports: for framing, backpressure and the end of input. */
export const eachByteTransport = combine([latest], byteTransports);

/** Every revision over one transport: for projections. */
export const eachRevision = combine(revisions, ['memory']);

/** The revisions with Streamable HTTP sessions, over it. */
const overHttp = combine(['2025-03-26', '2025-06-18', '2025-11-25'], ['HTTP']);

/**
 * Every revision over memory, and over HTTP if supported: for projections that depend on the
 * stream.
 */
export const eachRevisionAndHttp = [...eachRevision, ...overHttp];

/** Every revision over transports that support batches: our own, and a POST. */
export const batchCombinations = [...byteCombinations, ...overHttp];

/** The latest revision over memory and HTTP: for behaviour that depends only on the stream. */
export const memoryAndHttp = combine([latest], ['memory', 'HTTP']);

/** The revision without a handshake over every transport. */
export const modernEverywhere = combine([modern], transportNames);

/** Like the above, plus HTTP: for calls, whose requests have headers there and no session. */
export const modernEverywhereAndHttp = combine([modern], [...transportNames, 'HTTP']);

/** The revision without a handshake over our own transports. */
export const modernOverBytes = combine([modern], byteTransports);

/** The combinations of one revision. */
export const only = (one: Revision, among: readonly Combination[] = combinations) =>
  among.filter(({ revision }) => revision === one);

/** The combinations of all revisions but one. */
export const except = (one: Revision, among: readonly Combination[] = combinations) =>
  among.filter(({ revision }) => revision !== one);

/** The combinations from a revision on. */
export const since = (first: Revision, among: readonly Combination[] = combinations) =>
  among.filter(({ revision }) => revision >= first);

/** The combinations before a revision. */
export const before = (end: Revision, among: readonly Combination[] = combinations) =>
  among.filter(({ revision }) => revision < end);

function combine(versions: readonly Revision[], names: readonly TransportName[]) {
  return versions.flatMap((revision) => names.map((transport) => ({ revision, transport })));
}

let current: Combination | undefined;
let served: { readonly transport: TransportName; readonly revision: string | undefined }[] = [];

/** The combination of the running test; the default of `serve` and `operate`. */
export function combinationUnderTest(): Combination | undefined {
  return current;
}

/** Records a served combination: a test that runs for a combination must have served it. */
export function noteServed(transport: TransportName, revision: string | undefined): void {
  served.push({ transport, revision });
}

type Body = (combination: Combination) => void;

/** `describe`, for every revision over every transport. */
export function everywhere(name: string, body: Body): void;
/** `describe`, for each of these combinations. */
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
      // Hooks run in reverse order, so the sessions have been recorded by then.
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
