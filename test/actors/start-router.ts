/** An isolated router, with its input and output. */
import { Quotas } from '../../src/actors/memory-budget.ts';
import { SimulatedClock } from 'xstate';
import { routerActor } from '../../src/actors/router/router.actor.ts';
import { serverSide } from '../../src/actors/router/server-side.ts';
import { RequestIds } from '../../src/actors/correlation/correlation.actor.ts';
import type { RequestHandler } from '../../src/actors/request-context.ts';
import type { CorrelationEvent, RouterEvent, WriterEvent } from '../../src/machines/peer-ports.ts';
import type { SessionFact } from '../../src/machines/session-ports.ts';
import { classify } from '../../src/protocol/classify.ts';
import type { OutboundFrame } from '../../src/protocol/frames.ts';
import { readInitialize } from '../../src/protocol/initialize.ts';
import { facts, listener, startPort } from './fakes.ts';

/** Starts a router with these handlers. Its gate is open if a revision is given. */
export function startRouter(
  handlers: { readonly [method: string]: RequestHandler } = {},
  revision = '2025-11-25',
) {
  const session = listener<SessionFact>();
  const writer = listener<WriterEvent>();
  const correlation = listener<CorrelationEvent>();
  const { heard, report } = facts();
  const clock = new SimulatedClock();
  const ids = new RequestIds();
  const logic = routerActor(serverSide, () => ({
    handlers: new Map(Object.entries(handlers)),
    traffic: { received: () => {} },
    roots: () => undefined,
    discovery: { ttlMs: 0, scope: 'private' },
    server: { serverInfo: { name: 'server', version: '1' }, capabilities: {} },
    limits: {
      maxRunning: 4,
      maxWaiting: 4,
      maxWaitingBytes: 1_000_000,
      maxRunningBytes: 1_000_000,
    },
    quotas: new Quotas(),
    clock,
    requestIds: ids,
    peer: 'client' as const,
    createSuspendableCalls: () => ({
      serve: (handler, exchange) => handler(exchange.request.params, exchange),
      waiting: [],
      isIdle: true,
      close: () => {},
    }),
    report,
  }));
  const { actor, errors } = startPort(logic, {
    owner: session.ref,
    writer: writer.ref,
    correlation: correlation.ref,
  });
  const reading = readInitialize({
    protocolVersion: revision,
    capabilities: {},
    clientInfo: { name: 'host', version: '1' },
  });
  if (reading.ok && revision !== 'none') actor.send({ type: 'gate.opened', peer: reading.client });
  const receive = (...messages: readonly unknown[]) =>
    actor.send({ type: 'frames.received', frames: messages.map((message) => classify(message)) });
  const sent = (): readonly OutboundFrame[] =>
    writer.events.flatMap((event) => (event.type === 'frames.send' ? event.frames : []));
  const told = () => session.events.map(({ type }) => type);
  const tell = (event: RouterEvent) => actor.send(event);
  return { errors, heard, receive, sent, told, tell, correlation, ids };
}

export const request = (id: number, method = 'm') => ({ jsonrpc: '2.0', id, method });
