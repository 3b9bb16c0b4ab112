/**
 * The services of an endpoint: one for each server that a request was for. An endpoint has one
 * server, or as many as `serverOf` gives it.
 */
import type { ServedHttpRequest } from '../../../../src/protocol/request-origin.ts';
import type { McpServer } from '../../../../src/server/create-server.ts';
import type { McpSession } from '../../../../src/server/session.ts';
import { answerFailure } from '../checks.ts';
import type { EndpointHome } from '../request-authorization.ts';
import { servedRequest } from '../http-exchange.ts';
import type { HttpExchange } from '../http-exchange.ts';
import { beginning } from '../options.ts';
import type { HttpOptions, Served, ServerFactory } from '../options.ts';
import { notListed } from '../maintenance.ts';
import type { Maintained } from '../maintenance.ts';
import { RequestService } from './request-service.ts';

/** How many are kept that nobody waits for; the one that is idle for longest goes first. */
const maxIdle = 64;

/** Of those how many may have something that a client may come back to. */
const maxKeeping = 1024;

export class RequestServices implements Maintained {
  place = notListed;
  readonly #server: ServerFactory;
  readonly #servedTo: (request: ServedHttpRequest) => Served;
  readonly #options: HttpOptions;
  readonly #home: EndpointHome;
  /** The one that was used last comes last. */
  readonly #services = new Map<McpServer, RequestService>();
  /** When they were looked after last, the clock's milliseconds. */
  #tendedAt = 0;

  /** @param servedTo what is served to a request */
  constructor(
    server: ServerFactory,
    servedTo: (request: ServedHttpRequest) => Served,
    options: HttpOptions,
    home: EndpointHome,
  ) {
    this.#server = server;
    this.#servedTo = servedTo;
    this.#options = options;
    this.#home = home;
  }

  /** The sessions that are open, one per server. */
  get open(): readonly McpSession[] {
    return [...this.#services.values()].map(({ session }) => session);
  }

  /** Their servers. */
  get servers(): readonly McpServer[] {
    return [...this.#services.keys()];
  }

  /**
   * The service of the server that a request is for; undefined if the host's code fails to make one,
   * and the request is answered.
   */
  for(exchange: HttpExchange): RequestService | undefined {
    // The only one is found without asking what is served to whom.
    const only = typeof this.#server === 'function' ? undefined : this.#services.get(this.#server);
    if (only) return only;
    try {
      return this.#serviceOf(this.#servedTo(servedRequest(exchange)));
    } catch (error) {
      answerFailure(exchange, { error, needed: 'request', report: this.#home.report });
      return undefined;
    }
  }

  #serviceOf(served: Served): RequestService {
    const { server } = served;
    const known = this.#services.get(server);
    if (!known) return this.#begin(served);
    this.#services.delete(server);
    this.#services.set(server, known);
    return known;
  }

  /** Ends when what is in flight is drained. @param drainTimeoutMs in place of the limit */
  async close(drainTimeoutMs?: number): Promise<void> {
    const services = [...this.#services.values()];
    const reason = 'The server is closing';
    await Promise.all(services.map((service) => service.close(reason, drainTimeoutMs)));
  }

  tend(now: number): void {
    const elapsedMs = now - this.#tendedAt;
    this.#tendedAt = now;
    for (const service of this.#services.values()) {
      service.passed(elapsedMs);
      const isIdle = service.idleMs >= this.#home.limits.sessionIdleTimeoutMs;
      if (isIdle && !service.isKeeping) this.#let(service, 'Nobody asks for it');
    }
    if (this.#services.size === 0) this.#home.upkeep.delete(this);
  }

  #begin(served: Served): RequestService {
    const { server } = served;
    const listening = { ...beginning(served, this.#options), clock: this.#home.clock };
    const service: RequestService = new RequestService(server, listening, {
      home: this.#home,
      streams: !this.#options.jsonResponses,
      ended: () => {
        if (this.#services.get(server) === service) this.#services.delete(server);
      },
    });
    if (this.#services.size === 0) this.#tendedAt = this.#home.clock.now();
    this.#services.set(server, service);
    this.#makeRoom();
    this.#home.upkeep.add(this);
    return service;
  }

  /** Called when another one has begun: it is the last of them. */
  #makeRoom(): void {
    const idle = [...this.#services.values()].slice(0, -1).filter(({ isBusy }) => !isBusy);
    if (idle.length <= maxIdle) return;
    const oldest = idle.find(({ isKeeping }) => !isKeeping);
    const next = oldest ?? (idle.length > maxKeeping ? idle[0] : undefined);
    if (next) this.#let(next, 'Other servers were asked for more lately');
  }

  #let(service: RequestService, reason: string): void {
    this.#services.delete(service.server);
    void service.close(reason);
  }
}
