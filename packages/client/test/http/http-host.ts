/** The part of a connection that a channel over HTTP sees: it takes what the channel tells, and writes and reads at its ends. */
import { unobserved } from '../../../../src/actors/transitions.ts';
import type { MachineActor, ObservedScope } from '../../../../src/actors/transitions.ts';
import { createActor } from 'xstate';
import type { AnyActorRef } from 'xstate';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../../src/actors/clock.ts';
import type { Clock } from '../../../../src/actors/clock.ts';
import type { Fact } from '../../../../src/actors/facts.ts';
import type { HttpEntry } from '../../src/http/address.ts';
import { httpChannelKind } from '../../src/http/http-channel-kind.ts';
import type { HttpChannelKindOptions } from '../../src/http/http-channel-kind.ts';
import type { ChannelEvent, ChannelReport } from '../../src/channel/connection-ports.ts';
import type {
  DeliveryEvent,
  ReaderEvent,
  RouterEvent,
  TransportActors,
  TransportFact,
  WriterEvent,
} from '../../../../src/machines/peer-ports.ts';
import { plainActor, viewOf } from '../../../../src/machines/port.ts';
import type { Ref } from '../../../../src/machines/port.ts';
import type { RuntimeError } from '../../../../src/protocol/errors.ts';
import type { InboundFrame, JsonObject, OutboundFrame } from '../../../../src/protocol/frames.ts';

/** What became of a request. */
export type Outcome =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | { readonly kind: 'error'; readonly error: { readonly code: number; readonly message: string } }
  | { readonly kind: 'failed'; readonly error: RuntimeError }
  | { readonly kind: 'returned' };

export interface HostOptions extends HttpChannelKindOptions {
  readonly clock?: Clock;
  readonly observed?: ObservedScope;
  readonly limits?: { readonly maxLineBytes?: number; readonly maxOutboundBytes?: number };
}

const modern = '2026-07-28';

/** Things that come, for who looks for them by what they are. */
export class Arrivals<T> {
  readonly all: T[] = [];
  #waiting: (() => void)[] = [];

  add(thing: T): void {
    this.all.push(thing);
    for (const look of this.#waiting.splice(0)) look();
  }

  /** The first that fits, now or later. */
  async first<U extends T>(fits: (thing: T) => thing is U): Promise<U>;
  async first(fits: (thing: T) => boolean): Promise<T>;
  async first(fits: (thing: T) => boolean): Promise<T> {
    for (;;) {
      const found = this.all.find(fits);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }
}

export class HttpHost {
  readonly reports = new Arrivals<ChannelReport>();
  readonly facts = new Arrivals<Fact>();
  /** What is no answer to a request. */
  readonly heard = new Arrivals<InboundFrame>();
  readonly flows = new Arrivals<TransportFact>();
  /** The ids of requests whose stream the server has ended, to be asked for the rest. */
  readonly pauses: unknown[] = [];
  /** The ids of what was settled once more, which must not be. */
  readonly settledAgain: unknown[] = [];
  readonly #outcomes = new Map<unknown, (outcome: Outcome) => void>();
  readonly channel: Ref<ChannelEvent>;
  readonly #started: { stop(): unknown }[] = [];
  #writer: Ref<WriterEvent> | undefined = undefined;
  #reader: Ref<ReaderEvent> | undefined = undefined;
  #nextId = 1;
  /** What the host answers to what the server asks; by default nothing. */
  answer: ((asked: InboundFrame & { readonly kind: 'request' }) => OutboundFrame) | undefined;

  constructor(
    entry: HttpEntry,
    { clock = systemClock, observed = unobserved, limits, ...options }: HostOptions = {},
  ) {
    const MiB = 2 ** 20;
    const kind = httpChannelKind(entry, options);
    const logic = kind.logic({
      limits: {
        maxLineBytes: limits?.maxLineBytes ?? 16 * MiB,
        maxDepth: 256,
        maxOutboundBytes: limits?.maxOutboundBytes ?? 16 * MiB,
        readAheadBytes: MiB,
      },
      report: (fact) => this.facts.add(fact),
      clock,
      stderr: () => {},
      observed,
      authorize: () => {},
    });
    const connection = this.#actor<ChannelReport>((report) => {
      this.reports.add(report);
      if (report.type === 'channel.opened') this.#openEnds(report.ends);
    });
    this.channel = this.#run(createActor(logic, { input: { connection } }));
    onTestFinished(() => this.close());
  }

  /** Sends a request; gives what becomes of it. */
  request(
    method: string,
    params?: JsonObject,
    id: string | number = this.#nextId++,
  ): Promise<Outcome> {
    const frame = { jsonrpc: '2.0', id, method, ...(params ? { params } : {}) } as never;
    return new Promise((resolve) => {
      this.#outcomes.set(id, resolve);
      this.send(frame);
    });
  }

  /** A request of the modern era. */
  ask(method: string, params: JsonObject = {}, id?: string | number): Promise<Outcome> {
    const _meta = {
      ...(params['_meta'] as JsonObject | undefined),
      'io.modelcontextprotocol/protocolVersion': modern,
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'host', version: '1' },
    };
    return this.request(method, { ...params, _meta }, id);
  }

  /** Sends any frame. */
  send(frame: OutboundFrame): void {
    this.#writer?.send({
      type: 'frames.send',
      frames: [frame],
      reportTo: { send: (event) => this.#reported(event) },
    });
  }

  #reported(event: DeliveryEvent): void {
    if (event.type === 'frames.delivered') return;
    const { id } = event.frame as { readonly id?: unknown };
    if (event.type === 'frame.paused') this.pauses.push(id);
    else if (event.type === 'frame.returned') this.#settle(id, { kind: 'returned' });
    else this.#settle(id, { kind: 'failed', error: event.error as RuntimeError });
  }

  notify(method: string, params?: JsonObject): void {
    this.send({ jsonrpc: '2.0', method, ...(params ? { params } : {}) });
  }

  /** Sends a notification; gives whether the server has taken it. */
  tell(method: string): Promise<'taken' | 'rejected'> {
    return new Promise((resolve) => {
      this.#writer?.send({
        type: 'frames.send',
        frames: [{ jsonrpc: '2.0', method }],
        reportTo: {
          send: ({ type }) => resolve(type === 'frames.delivered' ? 'taken' : 'rejected'),
        },
        receipt: 1,
      });
    });
  }

  cancel(requestId: string | number): void {
    this.notify('notifications/cancelled', { requestId });
  }

  /** The machines that its channel shows in a dump, and where they stand. */
  get machines(): readonly (readonly [id: string, state: unknown])[] {
    const { machines } = viewOf(this.channel) as { machines: readonly MachineActor[] };
    return machines.map(({ actor }) => {
      const { value } = actor.getSnapshot() as { readonly value: unknown };
      return [actor.id, value];
    });
  }

  /** What its writer shows in a dump. */
  get written(): unknown {
    return this.#writer && viewOf(this.#writer);
  }

  /** Says whether what the host writes can be taken. */
  flow(type: 'output.blocked' | 'output.flowing'): void {
    this.#reader?.send({ type });
  }

  /** The handshake of the legacy era. */
  async greet(revision = '2025-11-25'): Promise<Outcome> {
    const outcome = await this.initialize(revision);
    this.channel.send({ type: 'channel.negotiated', revision });
    this.notify('notifications/initialized');
    return outcome;
  }

  initialize(protocolVersion = '2025-11-25'): Promise<Outcome> {
    const clientInfo = { name: 'host', version: '1' };
    return this.request('initialize', { protocolVersion, capabilities: {}, clientInfo });
  }

  told<K extends ChannelReport['type']>(type: K): Promise<ChannelReport & { readonly type: K }> {
    return this.reports.first(
      (report): report is ChannelReport & { readonly type: K } => report.type === type,
    );
  }

  /** Ends the channel, as a connection does, and everything else at once. */
  async close(): Promise<void> {
    if (this.channel.getSnapshot().status === 'active') {
      this.channel.send({ type: 'channel.close' });
      await this.told('channel.stopped');
    }
    for (const actor of this.#started) actor.stop();
  }

  #openEnds({ reader, writer }: TransportActors): void {
    const owner = this.#actor<TransportFact>((fact) => this.flows.add(fact));
    const router = this.#actor<RouterEvent>((event) => {
      if (event.type === 'frames.received') for (const frame of event.frames) this.#receive(frame);
    });
    this.#reader = this.#run(createActor(reader, { input: { owner, router } }));
    this.#writer = this.#run(createActor(writer, { input: { owner } }));
  }

  #receive(frame: InboundFrame): void {
    if (frame.kind === 'request' && this.answer) return this.send(this.answer(frame));
    if (frame.kind !== 'response' || !this.#outcomes.has(frame.id)) return this.heard.add(frame);
    const { outcome } = frame;
    if (outcome.ok) this.#settle(frame.id, { kind: 'result', result: outcome.result });
    else if ('error' in outcome) this.#settle(frame.id, { kind: 'error', error: outcome.error });
    else this.heard.add(frame);
  }

  #settle(id: unknown, outcome: Outcome): void {
    const settle = this.#outcomes.get(id);
    this.#outcomes.delete(id);
    if (settle) settle(outcome);
    else this.settledAgain.push(id);
  }

  #actor<TEvent extends { type: string }>(receive: (event: TEvent) => void): Ref<TEvent> {
    const logic = plainActor<TEvent, undefined>(() => ({ receive }));
    return this.#run(createActor(logic, { input: undefined })) as never;
  }

  #run<T extends AnyActorRef>(actor: T): T {
    this.#started.push(actor);
    actor.start();
    return actor;
  }
}

/** The error that a request failed with. */
export function errorOf(outcome: Outcome): RuntimeError {
  if (outcome.kind === 'failed') return outcome.error;
  throw new Error(`It did not fail: ${JSON.stringify(outcome)}`);
}
