/**
 * The services of an endpoint: one for each server that a request was for. An endpoint has one
 * server, or as many as `serverOf` gives it.
 */
import type { Clock } from '../../actors/clock.ts';
import { systemClock } from '../../actors/clock.ts';
import type { ServedHttpRequest } from '../../protocol/request-origin.ts';
import type { McpServer } from '../../server/create-server.ts';
import type { McpSession } from '../../server/session.ts';
import { servedRequest } from '../http-exchange.ts';
import type { HttpExchange } from '../http-exchange.ts';
import { beginning } from '../options.ts';
import type { HttpLimits, HttpOptions, Served, ServerOf } from '../options.ts';
import { SharedService } from './shared-service.ts';

/** How many are kept that nobody waits for; the one that is idle for longest goes first. */
const maxIdle = 64;

/** Of those how many may have something that a client may come back to. */
const maxKeeping = 1024;

/** How often they are looked after, milliseconds; more often if a limit is shorter. */
const lookMs = 1000;

export class SharedServices {
  readonly #server: ServerOf;
  readonly #servedTo: (request: ServedHttpRequest) => Served;
  readonly #limits: HttpLimits;
  readonly #options: HttpOptions;
  readonly #clock: Clock;
  /** The one that was used last comes last. */
  readonly #services = new Map<McpServer, SharedService>();
  #look: unknown = undefined;

  /** @param servedTo what is served to a request */
  constructor(
    server: ServerOf,
    servedTo: (request: ServedHttpRequest) => Served,
    { limits, options }: { readonly limits: HttpLimits; readonly options: HttpOptions },
  ) {
    this.#server = server;
    this.#servedTo = servedTo;
    this.#limits = limits;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** The sessions that are open, one per server. */
  get open(): readonly McpSession[] {
    return [...this.#services.values()].map(({ session }) => session);
  }

  /** The service of the server that a request is for. */
  for(exchange: HttpExchange): SharedService {
    // The only one is found without asking what is served to whom.
    const only = typeof this.#server === 'function' ? undefined : this.#services.get(this.#server);
    if (only) return only;
    const served = this.#servedTo(servedRequest(exchange));
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
    this.#clock.clearTimeout(this.#look);
    this.#look = undefined;
  }

  #begin(served: Served): SharedService {
    const { server } = served;
    const listening = { ...beginning(served, this.#options), clock: this.#clock };
    const service: SharedService = new SharedService(server, listening, {
      limits: this.#limits,
      streams: !this.#options.jsonResponses,
      ended: () => {
        if (this.#services.get(server) === service) this.#services.delete(server);
      },
    });
    this.#services.set(server, service);
    this.#makeRoom();
    this.#look ??= this.#startLook();
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

  #let(service: SharedService, reason: string): void {
    this.#services.delete(service.server);
    void service.close(reason);
  }

  #startLook(): unknown {
    const { streamAfterMs, keepaliveIntervalMs, sessionIdleTimeoutMs } = this.#limits;
    const waits = [lookMs, streamAfterMs, keepaliveIntervalMs || lookMs, sessionIdleTimeoutMs];
    const everyMs = Math.max(1, Math.min(...waits));
    return this.#clock.setTimeout(() => {
      for (const service of this.#services.values()) {
        service.passed(everyMs);
        if (service.idleMs < sessionIdleTimeoutMs || service.isKeeping) continue;
        this.#let(service, 'Nobody asks for it');
      }
      this.#look = this.#services.size > 0 ? this.#startLook() : undefined;
    }, everyMs);
  }
}
