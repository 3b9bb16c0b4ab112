/**
 * What all calls of a session share: one object of it for each session, with no functions of its own.
 */
import type { RootsRef } from '../../machines/session-context.ts';
import type { RouterInput } from '../../machines/peer-ports.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { PeerDescription } from '../../protocol/initialize.ts';
import type { DetachedWork, RequestHandler } from '../exchange.ts';
import type { Call, CallScope } from './call.ts';
import type { CallsInFlight } from './calls-in-flight.ts';

/** What the router knows that calls ask for. */
export interface SharedScopeOptions {
  readonly input: RouterInput;
  readonly calls: CallsInFlight;
  /** What its side knows of results and roots. */
  readonly side: {
    resultFor(peer: PeerDescription, result: JsonObject): object;
    roots(): RootsRef | undefined;
  };
  /** Whether new requests are refused because the session ends. */
  readonly gate: { readonly isClosing: boolean };
}

export class SharedScope implements CallScope {
  readonly session: object | undefined;
  readonly writer: CallScope['writer'];
  readonly correlation: CallScope['correlation'];
  readonly #calls: CallsInFlight;
  readonly #side: SharedScopeOptions['side'];
  readonly #gate: SharedScopeOptions['gate'];

  constructor({ input, calls, side, gate }: SharedScopeOptions) {
    this.session = input.scope;
    this.writer = input.writer;
    this.correlation = input.correlation;
    this.#calls = calls;
    this.#side = side;
    this.#gate = gate;
  }

  roots(): RootsRef | undefined {
    return this.#side.roots();
  }

  resultFor(peer: PeerDescription, result: JsonObject): object {
    return this.#side.resultFor(peer, result);
  }

  inRounds(handler: RequestHandler): RequestHandler {
    return this.#calls.inRounds(handler);
  }

  isWritable(): boolean {
    return this.#calls.isWritable;
  }

  whenWritable(callback: () => void): void {
    this.#calls.whenWritable(callback);
  }

  isClosing(): boolean {
    return this.#gate.isClosing;
  }

  detach(call: Call, handler: RequestHandler, work: DetachedWork): (reason: Error) => void {
    return this.#calls.detach(call, handler, work);
  }

  park(call: Call): void {
    this.#calls.park(call);
  }

  resume(call: Call): void {
    this.#calls.resume(call);
  }
}
