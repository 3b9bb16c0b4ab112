/**
 * One event stream from a server, read and resumed as its machine decides.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import { createParser } from 'eventsource-parser';
import type { EventSourceMessage } from 'eventsource-parser';
import { createActor } from 'xstate';
import type { ActorRefFrom } from 'xstate';
import type { Clock } from '../../../../src/actors/clock.ts';
import { reconnectJitterMs, watchSleep } from '../../../../src/actors/sleep-watch.ts';
import { inspectOptions } from '../../../../src/actors/transitions.ts';
import type { MachineActor, ObservedScope } from '../../../../src/actors/transitions.ts';
import { httpStreamMachine } from './http-stream.machine.ts';
import type { HttpStreamEvent, HttpStreamPort } from './http-stream.machine.ts';
import type { RestartTimes } from '../channel/restart-policy.ts';
import { RuntimeError, textOfError } from '../../../../src/protocol/errors.ts';
import { retryAfterMs, statusError, tooMuch, violation } from './failures.ts';
import { mediaTypeOf, refusalOf, discard } from './response.ts';
import type { BodyReader, HttpResponse } from './response.ts';
import type { SendOutcome } from './wire.ts';

/** Environment shared by the streams of a channel. */
export interface StreamEnvironment {
  readonly clock: Clock;
  readonly times: RestartTimes;
  /** Maximum event size, UTF-16 units (bytes, for ASCII). */
  readonly maxLineBytes: number;
  readonly gate: ReadGate;
  /** Scope of the connection, whose watchers see the streams too. */
  readonly observed: ObservedScope;
  /** Streams that are open or may be reopened. */
  readonly live: Set<MachineActor>;
}

/** Owner of a stream. */
export interface StreamOwner {
  /** Name of the stream in errors. */
  readonly what: string;
  /** Resumption of a cut stream; `anew`: even without an event id. */
  readonly resumption: 'none' | 'by-id' | 'anew';
  /** Requests the rest from the server. */
  ask(lastEventId: string | undefined): Promise<SendOutcome>;
  /** Receives the messages of one chunk. @returns `more` if more is expected */
  received(texts: readonly string[]): 'more' | 'all';
  /** Receives an event that is not a message. */
  passedOver?(event: { readonly event: string; readonly data: string }): void;
  /** The server opened the stream. */
  opened?(): void;
  /** The server ended its connection, and the rest can be requested. */
  paused?(): void;
  /**
   * The stream ended for good.
   *
   * @param error the reason; with a status if the server rejected the stream
   */
  gaveUp(error: RuntimeError, kind: StreamEnd): void;
}

/** Final state of a stream: cut, rejected by the server, or unreachable. */
export type StreamEnd = 'cut' | 'refused' | 'unreachable';

type End = readonly [error: RuntimeError, kind: StreamEnd];

/** Time a server may take to close a finished stream, ms. */
const graceMs = 1000;
/** Event ids are sent in a header. */
const maxIdLength = 4096;

export class ServerStream implements HttpStreamPort {
  readonly #owner: StreamOwner;
  readonly #environment: StreamEnvironment;
  readonly #actor: ActorRefFrom<typeof httpStreamMachine>;
  #reader: BodyReader | undefined = undefined;
  /** Also undefined after an id that no header can hold. */
  #lastEventId: string | undefined = undefined;
  #retryMs: number | undefined = undefined;
  /** Reason for the last cut or rejection. */
  #end!: End;

  /** @param response the first response; without it the stream is requested */
  constructor(owner: StreamOwner, environment: StreamEnvironment, response?: HttpResponse) {
    this.#owner = owner;
    this.#environment = environment;
    const { clock, times } = environment;
    const begins = response ? 'open' : 'resuming';
    const input = { port: this, times, begins } as const;
    this.#actor = createActor(httpStreamMachine, {
      id: owner.what,
      clock,
      input,
      ...inspectOptions('stream', environment.observed),
    });
    const shown: MachineActor = { machine: 'stream', actor: this.#actor };
    environment.live.add(shown);
    // A request has its own timeout; the standalone stream may be silent forever.
    const wakeful =
      owner.resumption === 'anew'
        ? watchSleep(clock, () => this.#tell({ type: 'stream.outslept' }))
        : () => {};
    const over = () => {
      wakeful();
      environment.live.delete(shown);
    };
    this.#actor.subscribe({ complete: over, error: over });
    this.#actor.start();
    if (response) void this.#read(response);
  }

  /** Scope of the connection, for its watchers. */
  get observed(): ObservedScope {
    return this.#environment.observed;
  }

  /** Closes a stream that is no longer needed. */
  close(): void {
    this.#tell({ type: 'stream.finished' });
    this.#letGo();
  }

  resume(): void {
    void this.#ask();
  }

  abandon(): void {
    this.#letGo();
    this.#reader = undefined;
  }

  readonly scatterMs = reconnectJitterMs;

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
    if (sent.kind === 'answered') return this.#answered(sent.response, sent.url);
    if (sent.kind === 'refused') return this.#refuse(sent.error);
    this.#cut([sent.error, sent.kind === 'broken' ? 'cut' : 'unreachable']);
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
    if (status === 200) return this.#refuse(violation(what, 'must be an event stream'));
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
    let why: string | undefined = undefined;
    try {
      for (let chunk = await body.read(); !chunk.done; chunk = await body.read()) {
        await gate.opened;
        if (this.#reader !== body) return;
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
    if (this.#reader !== body) return;
    const message = `The stream of ${what} was cut before it was complete: ${why ?? 'the connection ended'}`;
    const isResumable = this.#cut([new RuntimeError('CLOSED', message), 'cut'], heard);
    if (isResumable && why === undefined) this.#owner.paused?.();
  }

  #take(
    events: readonly { readonly id?: string; readonly event?: string; readonly data: string }[],
  ): void {
    const texts: string[] = [];
    for (const { id, event, data } of events) {
      if (id !== undefined) this.#lastEventId = isSendable(id) ? id : undefined;
      if (event !== undefined && event !== 'message') this.#owner.passedOver?.({ event, data });
      else if (data !== '') texts.push(data);
    }
    if (texts.length === 0 || this.#owner.received(texts) === 'more' || !this.#isActive) return;
    this.#tell({ type: 'stream.finished' });
    // A server that ends the stream now, as it should, lets its connection be reused.
    const reader = this.#reader;
    this.#environment.clock.setTimeout(() => void reader?.cancel().catch(() => {}), graceMs);
  }

  /** @returns true if the rest can be requested */
  #cut(end: End, heard = false): boolean {
    this.#end = end;
    const { resumption } = this.#owner;
    const isResumable =
      resumption === 'anew' || (resumption === 'by-id' && this.#lastEventId !== undefined);
    this.#tell({ type: 'stream.cut', heard, isResumable, retryMs: this.#retryMs });
    return isResumable;
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
      // The body was already cut off.
    });
  }
}

/** True if an event id can be sent in a header. */
function isSendable(id: string): boolean {
  return id !== '' && id.length <= maxIdLength && !/(?!\t)\p{Cc}/u.test(id);
}

/** Headers of a request for a stream, or for its rest after an event. */
export function eventHeaders(
  headers: Readonly<Record<string, string>> | undefined,
  lastEventId: string | undefined,
): Record<string, string> {
  const wanted = { accept: 'text/event-stream', ...headers };
  if (lastEventId === undefined) return wanted;
  // UTF-8 bytes of the id, one per character.
  const id = String.fromCharCode(...new TextEncoder().encode(lastEventId));
  return { ...wanted, 'last-event-id': id };
}

/** Decoded content of one chunk. */
export interface DecodedChunk {
  readonly events: readonly EventSourceMessage[];
  /** The last `retry` of the stream, ms. */
  readonly retryMs: number | undefined;
  /** An event is too long: the rest of the stream cannot be read. */
  readonly isTooLong: boolean;
}

/** Decoder of one stream. */
class EventDecoder {
  readonly #text = new TextDecoder();
  #events: EventSourceMessage[] = [];
  #retryMs: number | undefined = undefined;
  #state: 'reading' | 'afterReturn' | 'tooLong' = 'reading';
  readonly #parser;

  /** @param maxLength maximum event size, UTF-16 units */
  constructor(maxLength: number) {
    this.#parser = createParser({
      maxBufferSize: maxLength,
      onEvent: (event) => {
        // The parser's buffer limit covers only incomplete events. A complete one in a chunk may be
        // too long as well.
        if (event.data.length > maxLength) this.#state = 'tooLong';
        else if (this.#state !== 'tooLong') this.#events.push(event);
      },
      onRetry: (retryMs) => {
        this.#retryMs = retryMs;
      },
      onError: ({ type }) => {
        // Other lines that are not fields are skipped, as the standard demands.
        if (type === 'max-buffer-size-exceeded') this.#state = 'tooLong';
      },
    });
  }

  decode(chunk: Uint8Array): DecodedChunk {
    this.#feed(this.#text.decode(chunk, { stream: true }));
    const decoded = {
      events: this.#events,
      retryMs: this.#retryMs,
      isTooLong: this.#state === 'tooLong',
    };
    this.#events = [];
    return decoded;
  }

  #feed(text: string): void {
    if (text === '') return;
    // The parser holds back a line ending in CR in case an LF follows, and would wait forever for a
    // server that ends lines with CR only. The line is ended at once, and a following LF is
    // skipped.
    const rest = this.#state === 'afterReturn' && text.startsWith('\n') ? text.slice(1) : text;
    this.#state = text.endsWith('\r') ? 'afterReturn' : 'reading';
    this.#parser.feed(this.#state === 'afterReturn' ? `${rest}\n` : rest);
  }
}

/** Reasons for not reading: no router, too much output queued, or too many answers queued. */
export type ShutReason = 'untaken' | 'unsent' | 'unanswered';

/** Pauses reading of streams while their messages, or the answers to them, cannot be accepted. */
export class ReadGate {
  readonly #reasons = new Set<ShutReason>();
  #opened: Promise<void> | undefined;
  #open = () => {};

  /** @returns false if already shut for this reason */
  shut(reason: ShutReason): boolean {
    if (this.#reasons.has(reason)) return false;
    this.#reasons.add(reason);
    this.#opened ??= new Promise((resolve) => {
      this.#open = resolve;
    });
    return true;
  }

  /** Removes the reason. The gate opens with the last one. */
  open(reason: ShutReason): void {
    if (!this.#reasons.delete(reason) || this.#reasons.size > 0) return;
    this.#opened = undefined;
    this.#open();
  }

  /** Undefined while open. */
  get opened(): Promise<void> | undefined {
    return this.#opened;
  }
}
