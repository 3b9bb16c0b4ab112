/**
 * Requests of the modern era over HTTP.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http
 */
import { readEnvelope } from '../../../../src/protocol/envelope.ts';
import { ErrorCode } from '../../../../src/protocol/errors.ts';
import type {
  InboundFrame,
  InboundRequest,
  OutboundFrame,
  WireError,
} from '../../../../src/protocol/frames.ts';
import { Method, methodNotOffered } from '../../../../src/protocol/methods.ts';
import type { RequestAuthorization } from '../request-authorization.ts';
import type { HttpExchange } from '../http-exchange.ts';
import { headerMismatch, versionMismatch } from './mirrored-headers.ts';
import { errorAnswer } from '../checks.ts';
import { itemsBeforeSession } from '../../../../src/server/features/registry.ts';
import type { RequestServices } from './request-services.ts';
import { StatelessAnswer } from '../answers.ts';

export class ModernRequests {
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
        return this.#request(exchange, frame);
      case 'notification':
        // Request ids are scoped to one POST, so a cancellation cannot name anything.
        return exchange.answer({ status: 202 });
      case 'invalid':
        return exchange.answer(errorAnswer(frame.error, frame.id));
      case 'response':
      case 'stray-error':
        return exchange.answer(errorAnswer(unasked));
      case 'batch':
        return exchange.answer(errorAnswer(batch));
    }
  }

  #request(exchange: HttpExchange, request: InboundRequest): void {
    const { id, params } = request;
    const mismatch = versionMismatch(exchange, request);
    if (mismatch !== undefined) return exchange.answer(errorAnswer(mismatched(mismatch), id));
    const envelope = readEnvelope(params);
    if (!envelope.ok) return exchange.answer(errorAnswer(envelope.error, id));
    const service = this.#services.for(exchange);
    if (!service) return;
    const { server, session } = service;
    const { peer } = envelope;
    const tools = itemsBeforeSession(server.tools, () => {
      const origin = { idScope: 'request', principal: exchange.principal } as const;
      return { peer, origin, session };
    });
    const fault = headerMismatch(exchange, request, tools);
    if (fault !== undefined) return exchange.answer(errorAnswer(mismatched(fault), id));
    const overreach = this.#authorization?.checkScopes(exchange, request, tools);
    if (overreach) return exchange.answer(overreach);
    const missing = this.#unsupported(request, service.streams);
    if (missing) return exchange.answer(errorAnswer(missing, id, 404));
    // Any other authorized request is answered even if its token ends.
    const tokenValidity = request.method === Method.listen ? exchange.tokenValidity : undefined;
    const options = { idScope: 'request', id, tokenValidity } as const;
    service.serve(request, new ModernAnswer(exchange, options, service));
  }

  /** Error for methods that are unavailable over HTTP; undefined for all others. */
  #unsupported({ method }: InboundRequest, streams: boolean): WireError | undefined {
    if (method === Method.initialize) return methodNotOffered(method);
    if (method !== Method.listen || streams) return undefined;
    const message = `Method not found: "${method}" needs a stream, but this server only answers with JSON`;
    return { code: ErrorCode.methodNotFound, message };
  }
}

/** A disconnect cancels the request. */
class ModernAnswer extends StatelessAnswer {
  override readonly cancelsOnDisconnect = true;

  /** @see MCP 2026-07-28, basic/transports/streamable-http, "Protocol Version Header" */
  protected override statusOf(frame: OutboundFrame): number {
    return 'error' in frame ? (statuses.get(frame.error.code) ?? 200) : 200;
  }
}

/** Statuses of errors sent by the session; other errors are answered before it. */
const statuses = new Map<number, number>([
  [ErrorCode.methodNotFound, 404],
  [ErrorCode.headerMismatch, 400],
  [ErrorCode.missingClientCapability, 400],
]);

function mismatched(fault: string): WireError {
  return { code: ErrorCode.headerMismatch, message: `Header mismatch: ${fault}` };
}

const unasked: WireError = {
  code: ErrorCode.invalidRequest,
  message: 'Invalid request: got a response, but clients of this revision are sent no requests',
};

const batch: WireError = {
  code: ErrorCode.invalidRequest,
  message: 'Invalid request: a POST must contain one message, got a batch',
};
