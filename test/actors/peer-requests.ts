/**
 * An isolated correlation actor: a recording writer, a simulated clock, and requests that record
 * their outcome.
 */
import type { ProgressReport } from '../../src/protocol/dialects/dialect.ts';
import { correlationActor } from '../../src/actors/correlation/correlation.actor.ts';
import { RequestIds } from '../../src/actors/correlation/correlation.actor.ts';
import type { CorrelationOptions } from '../../src/actors/correlation/correlation.actor.ts';
import type { PeerRequest, RequestOutcome, WriterEvent } from '../../src/machines/peer-ports.ts';
import type {
  JsonObject,
  OutboundFrame,
  RequestId,
  OutboundRequestId,
  WireError,
} from '../../src/protocol/frames.ts';
import { serverId } from './ids.ts';
import { RuntimeError } from '../../src/protocol/errors.ts';
import { CountingClock } from './counting-clock.ts';
import { facts, listener, startPort } from './fakes.ts';

/** A request that records its outcomes and progress. */
export function clientRequest(changes: Partial<PeerRequest> = {}) {
  const outcomes: RequestOutcome[] = [];
  const progress: ProgressReport[] = [];
  const request: PeerRequest = {
    method: 'roots/list',
    timeoutMs: 1000,
    maxTotalMs: 10_000,
    settle: (outcome) => void outcomes.push(outcome),
    ...changes,
  };
  /** Error code, or `ok`. */
  const ending = (): string | undefined => {
    const [outcome] = outcomes;
    return outcome && (outcome.ok ? 'ok' : outcome.error.code);
  };
  return {
    request,
    outcomes,
    progress,
    ending,
    hears: (each: ProgressReport) => progress.push(each),
  };
}

export function startCorrelation({
  maxPending = 1024,
  ...options
}: Partial<CorrelationOptions> & { readonly maxPending?: number } = {}) {
  const clock = new CountingClock();
  const writer = listener<WriterEvent>();
  const { heard, report } = facts();
  const logic = correlationActor(() => ({
    limits: { maxPending },
    clock,
    report,
    requestIds: new RequestIds(),
    peer: 'client' as const,
    ...options,
  }));
  const { actor, ref, errors, view } = startPort(logic, { writer: writer.ref });
  const frames = (): readonly OutboundFrame[] =>
    writer.events.flatMap((event) => (event.type === 'frames.send' ? event.frames : []));
  const pending = () => (view() as ReadonlyMap<RequestId, unknown>).size;
  const open = () => actor.send({ type: 'gate.opened' });
  const close = () =>
    actor.send({ type: 'gate.closed', error: new RuntimeError('TRANSPORT_CLOSED', 'over') });
  const send = (changes: Partial<PeerRequest> = {}) => {
    const sent = clientRequest(changes);
    actor.send({ type: 'requests.send', requests: [sent.request] });
    return sent;
  };
  const cancel = (request: PeerRequest, reason = 'why') =>
    actor.send({ type: 'request.cancel', request, reason });
  const answer = (id: RequestId | undefined, result: JsonObject = {}) =>
    actor.send({
      type: 'responses.received',
      responses: [{ kind: 'response', id: id as OutboundRequestId, outcome: { ok: true, result } }],
    });
  const fail = (
    id: RequestId | undefined,
    outcome:
      | { readonly error: WireError }
      | { readonly malformed: string; readonly isJsonRpc: boolean },
  ) =>
    actor.send({
      type: 'responses.received',
      responses: [
        { kind: 'response', id: id as OutboundRequestId, outcome: { ok: false, ...outcome } },
      ],
    });
  const progress = (params: JsonObject | undefined) =>
    actor.send({ type: 'progress.received', params });
  const remoteCancel = (id: RequestId, reason?: unknown) =>
    actor.send({ type: 'remote.cancelled', id: serverId(id), reason });
  /**
   * Short form of a frame: `roots/list` for a request, `cancelled` for a cancellation, `error` for
   * an error.
   */
  const wire = () =>
    frames().map((frame) =>
      'method' in frame ? frame.method.replace('notifications/', '') : 'error',
    );
  /** Facts other than `request.sent` and `request.answered`. */
  const names = () =>
    heard
      .map(({ name }) => name)
      .filter((name) => name !== 'request.sent' && name !== 'request.answered');
  return {
    actor,
    ref,
    clock,
    errors,
    writer,
    frames,
    pending,
    open,
    close,
    send,
    cancel,
    answer,
    fail,
    progress,
    remoteCancel,
    wire,
    heard,
    names,
  };
}
