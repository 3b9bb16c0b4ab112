/**
 * The request services of an endpoint, one per server. A server factory may return any number of
 * servers.
 */
import type { ServedHttpRequest } from '../../../../src/protocol/request-origin.ts';
import type { McpServer } from '../../../../src/server/create-server.ts';
import type { McpSession } from '../../../../src/server/session.ts';
import { answerFailure } from '../checks.ts';
import type { EndpointContext } from '../request-authorization.ts';
import { requestForHandlers } from '../http-exchange.ts';
import type { HttpExchange } from '../http-exchange.ts';
import { listenOptionsFor } from '../options.ts';
import type { HttpOptions, ServerWithOptions, ServerFactory } from '../options.ts';
import { notListed } from '../maintenance.ts';
import type { Maintained } from '../maintenance.ts';
import { RequestService } from './request-service.ts';

/** Maximum idle services; the one idle the longest is closed first. */
const maxIdle = 64;

/** Maximum idle services with tasks or suspended calls. */
const maxResumable = 1024;

export class RequestServices implements Maintained {
  listIndex = notListed;
  readonly #server: ServerFactory;
  readonly #serverFor: (request: ServedHttpRequest) => ServerWithOptions;
  readonly #options: HttpOptions;
  readonly #endpoint: EndpointContext;
  /** In order of last use. */
  readonly #services = new Map<McpServer, RequestService>();
  /** Time of the last tick, clock ms. */
  #tickedAt = 0;

  /** @param serverFor resolves the server for a request */
  constructor(
    server: ServerFactory,
    serverFor: (request: ServedHttpRequest) => ServerWithOptions,
    options: HttpOptions,
    endpoint: EndpointContext,
  ) {
    this.#server = server;
    this.#serverFor = serverFor;
    this.#options = options;
    this.#endpoint = endpoint;
  }

  /** Open sessions, one per server. */
  get open(): readonly McpSession[] {
    return [...this.#services.values()].map(({ session }) => session);
  }

  /** Servers of the open sessions. */
  get servers(): readonly McpServer[] {
    return [...this.#services.keys()];
  }

  /**
   * The service for a request; undefined if the host's server factory threw and the request was
   * answered.
   */
  for(exchange: HttpExchange): RequestService | undefined {
    // A fixed server needs no factory call.
    const only = typeof this.#server === 'function' ? undefined : this.#services.get(this.#server);
    if (only) return only;
    try {
      return this.#serviceOf(this.#serverFor(requestForHandlers(exchange)));
    } catch (error) {
      answerFailure(exchange, { error, needed: 'request', report: this.#endpoint.report });
      return undefined;
    }
  }

  #serviceOf(served: ServerWithOptions): RequestService {
    const { server } = served;
    const known = this.#services.get(server);
    if (!known) return this.#start(served);
    this.#services.delete(server);
    this.#services.set(server, known);
    return known;
  }

  /**
   * Resolves once requests in flight are drained.
   *
   * @param drainTimeoutMs replaces the configured drain timeout, milliseconds
   */
  async close(drainTimeoutMs?: number): Promise<void> {
    const services = [...this.#services.values()];
    const reason = 'The server is closing';
    await Promise.all(services.map((service) => service.close(reason, drainTimeoutMs)));
  }

  tick(now: number): void {
    const elapsedMs = now - this.#tickedAt;
    this.#tickedAt = now;
    for (const service of this.#services.values()) {
      service.advance(elapsedMs);
      const isIdle = service.idleMs >= this.#endpoint.limits.sessionIdleTimeoutMs;
      if (isIdle && !service.isResumable) this.#close(service, 'The server was idle');
    }
    if (this.#services.size === 0) this.#endpoint.maintenance.delete(this);
  }

  #start(served: ServerWithOptions): RequestService {
    const { server } = served;
    const listening = { ...listenOptionsFor(served, this.#options), clock: this.#endpoint.clock };
    const service: RequestService = new RequestService(server, listening, {
      endpoint: this.#endpoint,
      streams: !this.#options.jsonResponses,
      ended: () => {
        if (this.#services.get(server) === service) this.#services.delete(server);
      },
    });
    if (this.#services.size === 0) this.#tickedAt = this.#endpoint.clock.now();
    this.#services.set(server, service);
    this.#evictIdle();
    this.#endpoint.maintenance.add(this);
    return service;
  }

  /** Closes an idle service if there are too many. The last one has just started. */
  #evictIdle(): void {
    const idle = [...this.#services.values()].slice(0, -1).filter(({ isBusy }) => !isBusy);
    if (idle.length <= maxIdle) return;
    const oldest = idle.find(({ isResumable }) => !isResumable);
    const next = oldest ?? (idle.length > maxResumable ? idle[0] : undefined);
    if (next) this.#close(next, 'Too many servers are idle');
  }

  #close(service: RequestService, reason: string): void {
    this.#services.delete(service.server);
    void service.close(reason);
  }
}
