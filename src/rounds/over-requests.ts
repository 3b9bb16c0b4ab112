/**
 * What a run shows its handler of the request that is open at the time, or was last: the handler may
 * outlive it.
 */
import type { DetachedWork, Exchange, RequestHandler, TaskHandle } from '../actors/exchange.ts';
import type { JsonObject, InboundRequestId } from '../protocol/frames.ts';
import type { PeerDescription } from '../protocol/initialize.ts';

export abstract class OverRequests {
  /** The request that is open, or was last. */
  protected exchange: Exchange;

  constructor(exchange: Exchange) {
    this.exchange = exchange;
  }

  get id(): InboundRequestId {
    return this.exchange.id;
  }

  get method(): string {
    return this.exchange.method;
  }

  get params(): JsonObject | undefined {
    return this.exchange.params;
  }

  get size(): number {
    return this.exchange.size;
  }

  get logLevel(): Exchange['logLevel'] {
    return this.exchange.logLevel;
  }

  get peer(): PeerDescription {
    return this.exchange.peer;
  }

  get session(): object | undefined {
    return this.exchange.session;
  }

  get task(): TaskHandle | undefined {
    return this.exchange.task;
  }

  get origin(): Exchange['origin'] {
    return this.exchange.origin;
  }

  get machine(): Exchange['machine'] {
    return this.exchange.machine;
  }

  set machine(machine: Exchange['machine']) {
    this.exchange.machine = machine;
  }

  announce(method: string, params: JsonObject): void {
    this.exchange.announce(method, params);
  }

  whenClosing(callback: () => void): void {
    this.exchange.whenClosing(callback);
  }

  get isWritable(): boolean {
    return this.exchange.isWritable;
  }

  whenWritable(callback: () => void): void {
    this.exchange.whenWritable(callback);
  }

  park(): void {
    this.exchange.park();
  }

  detach(handler: RequestHandler, work: DetachedWork): (reason: Error) => void {
    return this.exchange.detach(handler, work);
  }
}
