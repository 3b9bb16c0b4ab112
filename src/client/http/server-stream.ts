/**
 * One stream of events from a server: read, and resumed as its machine decides.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import { createActor } from 'xstate';
import type { ActorRefFrom } from 'xstate';
import type { Clock } from '../../actors/clock.ts';
import { observedMachine, unobserved } from '../../actors/transitions.ts';
import type { MachineActor, ObservedScope } from '../../actors/transitions.ts';
import { httpStreamMachine } from '../../machines/http-stream.machine.ts';
import type {
  HttpStreamEvent,
  HttpStreamInput,
  HttpStreamPort,
} from '../../machines/http-stream.machine.ts';
import type { RestartTimes } from '../../machines/restart-policy.ts';
import { RuntimeError, textOfError } from '../../protocol/errors.ts';
import { mediaTypeOf, refusalOf } from './body.ts';
import { EventDecoder } from './event-decoder.ts';
import { retryAfterMs, statusError, tooMuch, violation } from './failures.ts';
import type { ReadGate } from './read-gate.ts';
import { discard } from './response.ts';
import type { BodyReader, HttpResponse } from './response.ts';
import type { Sent } from './wire.ts';

/** What all streams of a channel have in common. */
export interface StreamEnvironment {
  readonly clock: Clock;
  readonly times: RestartTimes;
  /** The longest event, UTF-16 units: for ASCII, bytes. */
  readonly maxLineBytes: number;
  readonly gate: ReadGate;
  /** The connection: whoever watches it sees the streams too. */
  readonly observed: ObservedScope;
  /** The streams that are open, or may be again. */
  readonly live: Set<MachineActor>;
}

/** Whose stream it is. */
export interface StreamOwner {
  /** For errors: what the stream answers, or what it is. */
  readonly what: string;
  /** Whether another stream may go on where this one was cut; `anew`: without an event's id too. */
  readonly resumption: 'none' | 'by-id' | 'anew';
  /** Asks the server for the rest. */
  ask(lastEventId: string | undefined): Promise<Sent>;
  /** The texts of messages, one chunk's. @returns whether all was said that was expected */
  received(texts: readonly string[]): 'more' | 'all';
  /** An event is no message. */
  passedOver?(event: { readonly event: string; readonly data: string }): void;
  /** The server has opened it. */
  opened?(): void;
  /**
   * Nothing more comes of it.
   *
   * @param error why; has a status if the server has refused it
   */
  gaveUp(error: RuntimeError, kind: StreamEnd): void;
}

/** How a stream has ended for good: not even the server was reached, or it will not send the rest. */
export type StreamEnd = 'cut' | 'refused' | 'unreachable';

type End = readonly [error: RuntimeError, kind: StreamEnd];

/** How long the server may take to close a stream on which all was said, milliseconds. */
const graceMs = 1000;
/** An event's id goes into a header. */
const maxIdLength = 4096;

const observedStream = observedMachine('stream', httpStreamMachine, (input) => {
  const { port } = input as HttpStreamInput;
  return port instanceof ServerStream ? port.observed : unobserved;
});

export class ServerStream implements HttpStreamPort {
  readonly #owner: StreamOwner;
  readonly #environment: StreamEnvironment;
  readonly #actor: ActorRefFrom<typeof httpStreamMachine>;
  #reader: BodyReader | undefined = undefined;
  #lastEventId: string | undefined = undefined;
  #retryMs: number | undefined = undefined;
  /** Why it was cut last. */
  #end: End;

  /** @param response that it begins with; if there is none, the server is asked for it */
  constructor(owner: StreamOwner, environment: StreamEnvironment, response?: HttpResponse) {
    this.#owner = owner;
    this.#environment = environment;
    this.#end = [new RuntimeError('CLOSED', `The server has not opened ${owner.what}`), 'cut'];
    const { clock, times } = environment;
    const begins = response ? 'open' : 'resuming';
    const input = { port: this, times, begins } as const;
    this.#actor = createActor(observedStream, { id: owner.what, clock, input });
    const shown: MachineActor = { machine: 'stream', actor: this.#actor };
    environment.live.add(shown);
    const over = () => environment.live.delete(shown);
    this.#actor.subscribe({ complete: over, error: over });
    this.#actor.start();
    if (response) void this.#read(response);
  }

  /** Whose machines it is among. */
  get observed(): ObservedScope {
    return this.#environment.observed;
  }

  /** Nobody waits for it any more. */
  close(): void {
    this.#tell({ type: 'stream.finished' });
    this.#letGo();
  }

  resume(): void {
    void this.#ask();
  }

  gaveUp(): void {
    this.#letGo();
    this.#owner.gaveUp(...this.#end);
  }

  async #ask(): Promise<void> {
    const sent = await this.#owner.ask(this.#lastEventId);
    if (!this.#isActive) {
      if (sent.kind === 'answered') await discard(sent.response);
      return;
    }
    switch (sent.kind) {
      case 'aborted':
        return this.#tell({ type: 'stream.finished' });
      case 'unreachable':
      case 'broken':
        return this.#cut([sent.error, sent.kind === 'broken' ? 'cut' : 'unreachable']);
      case 'redirected':
      case 'unauthorized':
        return this.#refuse(sent.error);
      case 'answered':
        return this.#answered(sent.response, sent.url);
    }
  }

  async #answered(response: HttpResponse, url: URL): Promise<void> {
    const { what } = this.#owner;
    const { status } = response;
    if (status === 200 && mediaTypeOf(response) === 'text/event-stream') {
      this.#tell({ type: 'stream.opened' });
      this.#owner.opened?.();
      return this.#read(response);
    }
    const body = await refusalOf(response);
    if (status === 200) return this.#refuse(violation(what, 'is no stream of events'));
    const error = statusError(what, { status, url }, body);
    if (status !== 408 && status !== 429 && status < 500) return this.#refuse(error);
    this.#retryMs = retryAfterMs(response);
    this.#cut([error, 'cut']);
  }

  async #read({ body }: HttpResponse): Promise<void> {
    const { gate, maxLineBytes } = this.#environment;
    const { what } = this.#owner;
    const decoder = new EventDecoder(maxLineBytes);
    this.#reader = body;
    let heard = false;
    let why = 'it has ended';
    try {
      for (let chunk = await body.read(); !chunk.done; chunk = await body.read()) {
        await gate.opened;
        const { events, retryMs, isTooLong } = decoder.decode(chunk.value);
        this.#retryMs = retryMs ?? this.#retryMs;
        heard ||= events.length > 0;
        this.#take(events);
        if (isTooLong) return this.#refuse(tooMuch(what, maxLineBytes));
      }
    } catch (error) {
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      why = cause instanceof Error ? cause.message : textOfError(cause);
    }
    const message = `The stream of ${what} was cut before all was said: ${why}`;
    this.#cut([new RuntimeError('CLOSED', message), 'cut'], heard);
  }

  #take(
    events: readonly { readonly id?: string; readonly event?: string; readonly data: string }[],
  ): void {
    const texts: string[] = [];
    for (const { id, event, data } of events) {
      if (id !== undefined) this.#lastEventId = id === '' ? undefined : id;
      if (event !== undefined && event !== 'message') this.#owner.passedOver?.({ event, data });
      else if (data !== '') texts.push(data);
    }
    if (texts.length === 0 || this.#owner.received(texts) === 'more' || !this.#isActive) return;
    this.#tell({ type: 'stream.finished' });
    // Its connection can be used again if the server ends it now, as it should.
    const reader = this.#reader;
    this.#environment.clock.setTimeout(() => void reader?.cancel().catch(() => {}), graceMs);
  }

  #cut(end: End, heard = false): void {
    this.#end = end;
    const { resumption } = this.#owner;
    const isResumable =
      resumption === 'anew' || (resumption === 'by-id' && isSendable(this.#lastEventId));
    this.#tell({ type: 'stream.cut', heard, isResumable, retryMs: this.#retryMs });
    this.#retryMs = undefined;
  }

  #refuse(error: RuntimeError): void {
    this.#end = [error, 'refused'];
    this.#tell({ type: 'stream.refused' });
  }

  get #isActive(): boolean {
    return this.#actor.getSnapshot().status === 'active';
  }

  #tell(event: HttpStreamEvent): void {
    if (this.#isActive) this.#actor.send(event);
  }

  #letGo(): void {
    void this.#reader?.cancel().catch(() => {
      // It broke before.
    });
  }
}

/** Whether the id of an event can be named in a header. */
function isSendable(id: string | undefined): id is string {
  return id !== undefined && id.length <= maxIdLength && !/(?!\t)\p{Cc}/u.test(id);
}

/** The id of an event as a header's value: its UTF-8, a byte for each character. */
export function headerOfEventId(id: string): string {
  let value = '';
  for (const byte of new TextEncoder().encode(id)) value += String.fromCharCode(byte);
  return value;
}
