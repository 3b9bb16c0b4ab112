import { writerActor } from '../../src/actors/writer/writer.actor.ts';
import type { Sink } from '../../src/actors/writer/writer.actor.ts';
import type { TransportFact } from '../../src/machines/peer-ports.ts';
import type { OutboundFrame } from '../../src/protocol/frames.ts';
import { facts, listener, startPort } from './fakes.ts';

/** A writer with a sink that is full after `room` writes. */
export function startWriter({ room = Infinity, maxOutboundBytes = 1_000_000 } = {}) {
  const sink = {
    room,
    untaken: 0,
    writes: [] as string[],
    /** Called during a write. */
    onWrite: () => {},
    flushes: [] as (() => void)[],
    events: undefined as Parameters<Sink['listen']>[0] | undefined,
  };
  const owner = listener<TransportFact>();
  const { heard, report } = facts();
  const logic = writerActor(
    {
      write: (chunk) => {
        sink.writes.push(typeof chunk === 'string' ? chunk : new TextDecoder().decode(chunk));
        sink.onWrite();
        return --sink.room > 0;
      },
      flush: (done) => void sink.flushes.push(done),
      bufferedLength: () => sink.untaken,
      listen: (events) => {
        sink.events = events;
        return () => (sink.events = undefined);
      },
    },
    { maxOutboundBytes, report, peer: 'client' },
  );
  const { actor, errors, view } = startPort(logic, { owner: owner.ref });
  const send = (...frames: OutboundFrame[]) => actor.send({ type: 'frames.send', frames });
  /** Records the method of a notification once delivered. */
  const awaited: string[] = [];
  const awaitTaken = (method: string, params?: object) =>
    actor.send({
      type: 'frames.send',
      frames: [{ jsonrpc: '2.0', method, ...(params ? { params } : {}) }],
      reportTo: {
        send: ({ type }) =>
          void awaited.push(type === 'frames.delivered' ? method : `${method} rejected`),
      },
      receipt: 1,
    });
  const drain = (more = Infinity) => {
    sink.room = more;
    sink.events?.drained();
  };
  const ids = () =>
    sink.writes
      .join('')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { readonly id: number }).id);
  const told = () => owner.events.map(({ type }) => type);
  return { actor, errors, sink, heard, send, awaitTaken, awaited, drain, ids, told, view };
}
