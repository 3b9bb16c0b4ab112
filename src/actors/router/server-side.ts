/**
 * The side of a server's session: its client opens it with `initialize`, or says itself with each
 * request who it is.
 *
 * @see MCP 2025-11-25, basic/lifecycle
 * @see MCP 2026-07-28, basic, "Statelessness"
 */
import type { RootsRef } from '../../machines/session-context.ts';
import type { SessionRouterInput } from '../../machines/session-ports.ts';
import { describe } from '../../protocol/classify.ts';
import { errorResponse, shuttingDown } from '../../protocol/errors.ts';
import { isEnveloped } from '../../protocol/envelope.ts';
import type { InboundRequest } from '../../protocol/frames.ts';
import { readInitialize } from '../../protocol/initialize.ts';
import { Method } from '../../protocol/methods.ts';
import { beforeInitialize, duplicateId, initializeInBatch, methodNotOffered } from './refusals.ts';
import type { RouterDesk, RouterOptions, RouterSide } from './router-side.ts';
import { admit, isSessionless, isStateless, settlesEra } from './stateless-call.ts';
import type { StatelessService } from './stateless-call.ts';

export interface ServerRouterOptions extends RouterOptions, StatelessService {
  /** The machine of the client's roots, if it has any. */
  roots(): RootsRef | undefined;
}

type Desk = RouterDesk<SessionRouterInput, ServerRouterOptions>;

export const serverSide: RouterSide<SessionRouterInput, ServerRouterOptions> = {
  lifecycle(frame, desk) {
    const { owner } = desk.input;
    if (frame.kind === 'notification' && frame.method === Method.initialized) {
      owner.send({ type: 'initialized.received' });
    } else if (frame.kind !== 'request' || isSessionless(frame)) {
      return false;
    } else if (frame.method === Method.initialize && !isEnveloped(frame.params)) {
      initialize(frame, desk);
    } else if (desk.gate.state === 'unopened' && settlesEra(frame)) {
      owner.send({ type: 'envelope.received' });
      desk.request(frame, desk.outbox);
    } else {
      return false;
    }
    return true;
  },

  admit(request, { gate, scope, options }, replies) {
    const isAnyOther = gate.state !== 'modern' && !isStateless(request) && !isSessionless(request);
    return isAnyOther ? undefined : admit(request, scope, options, replies);
  },

  refusalInBatch: ({ method }) => (method === Method.initialize ? initializeInBatch : undefined),
  tooEarly: beforeInitialize,
  tooLate: shuttingDown,
  notOffered: methodNotOffered,
  resultFor: (peer, result, { server }) => peer.dialect.result(result, server),
  rootsOf: (options) => options.roots(),

  notification({ method }, { input, options }) {
    if (method === Method.initialized) return input.owner.send({ type: 'initialized.received' });
    if (method === Method.rootsListChanged) return input.owner.send({ type: 'roots.changed' });
    const message = `Nobody handles the notification ${describe(method)}`;
    options.report({ level: 'debug', name: 'notification.ignored', message });
  },

  /** Our ids are no client's. */
  cancelledUnknown(id, reason, { input }) {
    input.correlation.send({ type: 'remote.cancelled', id, reason });
  },

  /** Nobody else can know an id of ours. */
  isMeantAsAnswer: () => true,
  answersInvalid: () => true,
};

function initialize(frame: InboundRequest, desk: Desk): void {
  const { id, params, origin } = frame;
  if (desk.isInFlight(frame)) {
    return desk.outbox.add(errorResponse(id, duplicateId(id)), frame);
  }
  const request = { id, origin };
  const reading = readInitialize(params);
  desk.input.owner.send({ type: 'initialize.received', request, reading });
}
