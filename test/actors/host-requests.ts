/** An isolated correlation actor of a host, starting without a channel. */
import { correlationActor } from '../../src/actors/correlation/correlation.actor.ts';
import type { CorrelationOptions } from '../../src/actors/correlation/correlation.actor.ts';
import type { PendingRequest } from '../../src/actors/correlation/correlation.actor.ts';
import { RequestIds } from '../../src/actors/correlation/correlation.actor.ts';
import type { FramesToSend, PeerRequest, WriterEvent } from '../../src/machines/peer-ports.ts';
import { RuntimeError } from '../../src/protocol/errors.ts';
import type { OutboundRequestId, RequestId } from '../../src/protocol/frames.ts';
import { CountingClock } from './counting-clock.ts';
import { clientRequest } from './peer-requests.ts';
import { facts, listener, startPort } from './fakes.ts';

/** The writer reports that the channel did not accept a message. */
export function reject(sending: Sending | undefined, error: unknown): void {
  if (!sending) return;
  const { id, method, reportTo, receipt } = sending;
  const frame = { jsonrpc: '2.0', id: id as never, method } as const;
  reportTo?.send({ type: 'frame.rejected', frame, error, receipt });
}

/** The writer reports that the channel has accepted a message. */
export function deliver({ reportTo, receipt }: Partial<Sending> = {}): void {
  if (receipt !== undefined) reportTo?.send({ type: 'frames.delivered', receipt });
}

/** A frame passed to a writer. */
export interface Sending {
  /** Number of the channel, from 1. */
  readonly channel: number;
  readonly method: string;
  readonly id: OutboundRequestId | undefined;
  readonly params: object | undefined;
  readonly reportTo: FramesToSend['reportTo'];
  readonly receipt: FramesToSend['receipt'];
}

export function startHostCorrelation(limits: Partial<CorrelationOptions['limits']> = {}) {
  const clock = new CountingClock();
  const { heard, report } = facts();
  const logic = correlationActor(() => ({
    limits: { maxPending: 1024, maxWaitingAway: 256, ...limits },
    clock,
    report,
    requestIds: new RequestIds('integers'),
    peer: 'server',
    malformed: 'reported',
  }));
  const { actor, errors, view } = startPort(logic, {});
  const sent: Sending[] = [];
  let channels = 0;
  const channel = () => {
    const number = ++channels;
    const writer = listener<WriterEvent>((event) => {
      if (event.type !== 'frames.send') return;
      const { reportTo, receipt } = event;
      for (const frame of event.frames) {
        if (!('method' in frame)) throw new Error('A host’s correlation sends no responses');
        const { method, params } = frame;
        const id = 'id' in frame ? frame.id : undefined;
        sent.push({ channel: number, method, id, params, reportTo, receipt });
      }
    });
    actor.send({ type: 'channel.opened', writer: writer.ref });
  };
  const open = () => actor.send({ type: 'gate.opened' });
  return {
    actor,
    errors,
    clock,
    heard,
    sent,
    /** Channel and method of each frame. */
    wire: () => sent.map(({ channel: number, method }) => `${number} ${method}`),
    pending: () => [...(view() as ReadonlyMap<number, PendingRequest>).values()],
    channel,
    open,
    /** Opens a channel and completes its handshake. */
    connect: () => {
      channel();
      open();
    },
    hold: () => actor.send({ type: 'gate.held' }),
    lose: (error = new RuntimeError('CLOSED', 'The server has ended')) =>
      actor.send({ type: 'channel.lost', error }),
    close: (error = new RuntimeError('CLOSED', 'The connection is closed')) =>
      actor.send({ type: 'gate.closed', error }),
    /** Closes the connection while the server is connected. */
    leave: () =>
      actor.send({
        ...{ type: 'gate.closed', peer: 'told' },
        error: new RuntimeError('CLOSED', 'The host has closed it'),
      }),
    /** Reports that the server's session ended without serving the request with this id. */
    giveBack: (id: RequestId | undefined) => {
      const sending = sent.find((each) => id !== undefined && each.id === id);
      const error = new RuntimeError('HTTP_STATUS', 'The session is gone', { status: 404 });
      const frame = { jsonrpc: '2.0', id: id as never, method: '' } as const;
      sending?.reportTo?.send({ type: 'frame.returned', frame, error });
    },
    send: (method = 'tools/call', changes: Partial<PeerRequest> = {}) => {
      const asked = clientRequest({ method, ...changes });
      actor.send({ type: 'requests.send', requests: [asked.request] });
      return asked;
    },
    cancel: (request: PeerRequest) =>
      actor.send({ type: 'request.cancel', request, reason: 'why' }),
    answer: (id: RequestId | undefined) =>
      actor.send({
        type: 'responses.received',
        responses: [
          { kind: 'response', id: id as OutboundRequestId, outcome: { ok: true, result: {} } },
        ],
      }),
  };
}
