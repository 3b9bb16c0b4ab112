/**
 * Requests of revisions with a handshake, at an endpoint without sessions. Each request is served
 * alone, for a client that is known only by its revision.
 *
 * @see MCP 2025-11-25, basic/transports, "Session Management": a server MAY assign a session
 */
import { inspectValue } from '../../../../src/protocol/classify.ts';
import {
  assumedVersion,
  handshakeVersions,
  negotiateDialect,
} from '../../../../src/protocol/dialects/registry.ts';
import { ErrorCode } from '../../../../src/protocol/errors.ts';
import type {
  InboundBatch,
  InboundFrame,
  InboundRequest,
} from '../../../../src/protocol/frames.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import type { RequestAuthorization } from '../request-authorization.ts';
import type { HttpExchange } from '../http-exchange.ts';
import { errorAnswer, httpError } from '../checks.ts';
import { unknownClient } from '../../../../src/actors/router/server-side.ts';
import { itemsBeforeSession } from '../../../../src/server/features/registry.ts';
import type { RequestServices } from './request-services.ts';
import { StatelessAnswer } from '../answers.ts';

const noRequestsReason =
  "this server keeps no sessions, so a client's response could not be assigned to its call";

export class SessionlessRequests {
  readonly #services: RequestServices;
  readonly #authorization: RequestAuthorization | undefined;

  constructor(services: RequestServices, authorization: RequestAuthorization | undefined) {
    this.#services = services;
    this.#authorization = authorization;
  }

  /** Handles the message of a POST. */
  post(exchange: HttpExchange, frame: InboundFrame): void {
    switch (frame.kind) {
      case 'request':
      case 'batch':
        return this.#serve(exchange, frame);
      case 'notification':
      case 'response':
      case 'stray-error':
        // A cancellation could name any client's request, and no request was sent that a response
        // could belong to.
        return exchange.answer({ status: 202 });
      case 'invalid':
        return exchange.answer(errorAnswer(frame.error, frame.id));
    }
  }

  /** Rejects GET and DELETE: without sessions there are no streams and nothing to delete. */
  refuseOther(exchange: HttpExchange): void {
    exchange.answer(httpError(405, 'This server keeps no sessions: use POST', { allow: 'POST' }));
  }

  #serve(exchange: HttpExchange, frame: InboundRequest | InboundBatch): void {
    const revision = revisionOf(exchange, frame);
    const id = frame.kind === 'request' ? frame.id : undefined;
    if (revision === undefined) {
      const said = inspectValue(exchange.head.protocolVersion);
      const message = `Invalid request: MCP-Protocol-Version must be one of ${handshakeVersions.join(', ')}, got ${said}`;
      return exchange.answer(errorAnswer({ code: ErrorCode.invalidRequest, message }, id));
    }
    if (frame.kind === 'batch') {
      const refusal = negotiateDialect(revision).batchRefusal(frame.messages.length, maxBatch);
      if (refusal) return exchange.answer(errorAnswer(refusal));
    }
    const served = frame.kind === 'batch' ? answered(frame) : frame;
    if (!served) return exchange.answer({ status: 202 });
    const service = this.#services.for(exchange);
    if (!service) return;
    const { server, session } = service;
    const tools = itemsBeforeSession(server.tools, () => {
      const origin = { idScope: 'request', principal: exchange.principal, revision } as const;
      return { peer: unknownClient(revision), origin, session };
    });
    const overreach = this.#authorization?.checkScopes(exchange, frame, tools);
    if (overreach) return exchange.answer(overreach);
    const options = { idScope: 'request', revision, noRequestsReason, id } as const;
    service.serve(served, new SessionlessAnswer(exchange, options, service));
  }
}

/** Larger than any reasonable batch, because each message takes a place in the call queue. */
const maxBatch = 100;

/**
 * The messages of a batch that need an answer; undefined if there are none. Others have no
 * recipient.
 */
function answered(batch: InboundBatch): InboundBatch | undefined {
  const messages = batch.messages.filter(isAnswered);
  return messages.length === 0 ? undefined : { ...batch, messages };
}

/** True for a request, and for a value that is not a message. */
function isAnswered(message: unknown): boolean {
  const { id, method } = (message ?? {}) as { readonly id?: unknown; readonly method?: unknown };
  return method === undefined ? id === undefined : id !== undefined;
}

/** @returns undefined for an unknown revision */
function revisionOf(exchange: HttpExchange, frame: InboundFrame): string | undefined {
  const said = exchange.head.protocolVersion;
  // `initialize` negotiates the revision itself, whatever the header says.
  if (frame.kind === 'request' && frame.method === Method.initialize) return assumedVersion;
  return said === undefined
    ? assumedVersion
    : handshakeVersions.find((version) => version === said);
}

/** A disconnect does not cancel the request. */
class SessionlessAnswer extends StatelessAnswer {
  override readonly cancelsOnDisconnect = false;

  protected override statusOf(): number {
    return 200;
  }
}
