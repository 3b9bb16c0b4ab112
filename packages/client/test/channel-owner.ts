/** A connection's part towards its channel: it starts both ends, and says what they tell. */
import { unobserved } from '../../../src/actors/transitions.ts';
import { createActor } from 'xstate';
import type { Actor } from 'xstate';
import { systemClock } from '../../../src/actors/clock.ts';
import type { Clock } from '../../../src/actors/clock.ts';
import type { Fact } from '../../../src/actors/facts.ts';
import { defaultConnectionLimits } from '../src/connection/limits.ts';
import type { ChannelKind } from '../src/channel/channel-kind.ts';
import type { ChannelEvent, ChannelInput, ChannelReport } from '../src/channel/connection-ports.ts';
import type { ConnectionLoss } from '../../../src/protocol/disconnects.ts';
import { plainActor } from '../../../src/machines/port.ts';
import type { Port, Ref } from '../../../src/machines/port.ts';
import type {
  ReaderEvent,
  RouterEvent,
  TransportFact,
  WriterEvent,
} from '../../../src/machines/peer-ports.ts';
import type { InboundFrame } from '../../../src/protocol/frames.ts';

type Owned = ChannelReport | TransportFact;

export class ChannelOwner {
  readonly limits = defaultConnectionLimits;
  readonly reports: ChannelReport[] = [];
  readonly facts: Fact[] = [];
  readonly stderr: string[] = [];
  readonly frames: InboundFrame[] = [];
  readonly channel: Actor<Port<ChannelEvent, ChannelInput>>;
  #writer: Ref<WriterEvent> | undefined;
  #reader: Ref<ReaderEvent> | undefined;
  readonly #ends: Actor<never>[] = [];
  readonly #waiting = new Set<() => void>();

  constructor(kind: ChannelKind, clock: Clock = systemClock) {
    const self = createActor(
      plainActor<Owned, undefined>(() => ({ receive: (event) => this.#hear(event) })),
      { input: undefined },
    );
    self.start();
    const logic = kind.logic({
      limits: this.limits,
      report: (fact) => this.facts.push(fact),
      clock,
      stderr: (text) => this.stderr.push(text),
      observed: unobserved,
      authorize: () => {},
    });
    const connection = self as unknown as Ref<Owned>;
    this.#self = connection;
    this.channel = createActor(logic, { input: { connection: connection as Ref<ChannelReport> } });
    this.channel.start();
  }

  readonly #self: Ref<Owned>;

  /** The types of what it has told, in order. */
  get order(): readonly string[] {
    return this.reports.map(({ type }) => type.replace('channel.', ''));
  }

  get loss(): ConnectionLoss | undefined {
    return this.reports.find((report) => report.type === 'channel.lost')?.loss;
  }

  /** Resolves once the channel has told this. */
  async told(type: ChannelReport['type']): Promise<void> {
    await this.#until(() => this.reports.some((report) => report.type === type));
  }

  /** Resolves with the first frame that comes, or came. */
  async frame(): Promise<InboundFrame> {
    await this.#until(() => this.frames.length > 0);
    return this.frames[0] as InboundFrame;
  }

  send(method: string, params: object = {}): void {
    const frame = { jsonrpc: '2.0', id: 1, method, params } as never;
    this.#writer?.send({ type: 'frames.send', frames: [frame] });
  }

  close(): void {
    this.channel.send({ type: 'channel.close' });
  }

  stopEnds(): void {
    for (const end of this.#ends) end.stop();
  }

  /** Stops what it has started. */
  end(): void {
    this.stopEnds();
    this.channel.stop();
  }

  #hear(event: Owned): void {
    switch (event.type) {
      case 'channel.opened':
        this.reports.push(event);
        this.#open(event.ends);
        break;
      case 'input.ended':
      case 'output.broken':
        this.channel.send(event);
        break;
      case 'output.blocked':
        this.#reader?.send(event);
        break;
      case 'channel.lost':
      case 'channel.stopped':
        this.reports.push(event);
        break;
      default:
    }
    for (const wake of this.#waiting) wake();
  }

  #open({ reader, writer }: Extract<ChannelReport, { type: 'channel.opened' }>['ends']): void {
    const owner = this.#self as Ref<TransportFact>;
    const router = {
      send: (event: RouterEvent) => {
        if (event.type === 'frames.received') this.frames.push(...event.frames);
        for (const wake of this.#waiting) wake();
      },
    };
    const ends = [
      createActor(writer, { input: { owner } }),
      createActor(reader, { input: { owner, router } }),
    ] as unknown as Actor<never>[];
    this.#writer = ends[0] as unknown as Ref<WriterEvent>;
    this.#reader = ends[1] as unknown as Ref<ReaderEvent>;
    this.#ends.push(...ends);
    for (const end of ends) end.start();
  }

  #until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }
}
