/**
 * The services of an endpoint: one for each server that a request was for. An endpoint has one
 * server, or as many as `serverOf` gives it.
 */
import type { Clock } from '../../actors/clock.ts';
import type { Room } from '../../actors/room.ts';
import type { ServedHttpRequest } from '../../protocol/request-origin.ts';
import type { McpServer } from '../../server/create-server.ts';
import type { McpSession } from '../../server/session.ts';
import { answerFailure } from '../checks.ts';
import type { EndpointHome } from '../request-authorization.ts';
import type { HttpReport } from '../facts.ts';
import { servedRequest } from '../http-exchange.ts';
import type { HttpExchange } from '../http-exchange.ts';
import { beginning } from '../options.ts';
import type { HttpLimits, HttpOptions, Served, ServerOf } from '../options.ts';
import { unlisted } from '../upkeep.ts';
import type { Tended, Upkeep } from '../upkeep.ts';
import { RequestService } from './request-service.ts';

/** How many are kept that nobody waits for; the one that is idle for longest goes first. */
const maxIdle = 64;

/** Of those how many may have something that a client may come back to. */
const maxKeeping = 1024;

export class RequestServices implements Tended {
  place = unlisted;
  readonly #server: ServerOf;
  readonly #servedTo: (request: ServedHttpRequest) => Served;
  readonly #limits: HttpLimits;
  readonly #room: Room;
  readonly #options: HttpOptions;
  readonly #clock: Clock;
  readonly #report: HttpReport;
  /** The one that was used last comes last. */
  readonly #services = new Map<McpServer, RequestService>();
  readonly #upkeep: Upkeep;
  /** When they were looked after last, the clock's milliseconds. */
  #tendedAt = 0;

  /** @param servedTo what is served to a request */
  constructor(
    server: ServerOf,
    servedTo: (request: ServedHttpRequest) => Served,
    options: HttpOptions,
    { limits, room, clock, report, upkeep }: EndpointHome,
  ) {
    this.#server = server;
    this.#servedTo = servedTo;
    this.#limits = limits;
    this.#room = room;
    this.#options = options;
    this.#clock = clock;
    this.#report = report;
    this.#upkeep = upkeep;
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
      answerFailure(exchange, { error, needed: 'request', report: this.#report });
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
    this.#upkeep.delete(this);
  }

  tend(now: number): void {
    const elapsedMs = now - this.#tendedAt;
    this.#tendedAt = now;
    for (const service of this.#services.values()) {
      service.passed(elapsedMs);
      const isIdle = service.idleMs >= this.#limits.sessionIdleTimeoutMs;
      if (isIdle && !service.isKeeping) this.#let(service, 'Nobody asks for it');
    }
    if (this.#services.size === 0) this.#upkeep.delete(this);
  }

  #begin(served: Served): RequestService {
    const { server } = served;
    const listening = { ...beginning(served, this.#options), clock: this.#clock };
    const service: RequestService = new RequestService(server, listening, {
      limits: this.#limits,
      room: this.#room,
      streams: !this.#options.jsonResponses,
      ended: () => {
        if (this.#services.get(server) === service) this.#services.delete(server);
      },
    });
    if (this.#services.size === 0) this.#tendedAt = this.#clock.now();
    this.#services.set(server, service);
    this.#makeRoom();
    this.#upkeep.add(this);
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
