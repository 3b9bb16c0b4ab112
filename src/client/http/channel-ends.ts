/** The reader and the writer of a channel over HTTP: both are the channel itself. */
import type { ChannelEnds } from '../../machines/connection-ports.ts';
import { plainActor } from '../../machines/port.ts';
import type { Behaviour, Ref } from '../../machines/port.ts';
import type {
  FramesToSend,
  RouterEvent,
  TransportFact,
  WriterEvent,
} from '../../machines/peer-ports.ts';
import { RuntimeError } from '../../protocol/errors.ts';

/** The channel, as its ends know it. */
export interface EndedChannel {
  /** Whether more waits than may. */
  readonly isFull: boolean;
  readonly view: object;
  readTo(router: Pick<Ref<RouterEvent>, 'send'> | undefined): void;
  flow(isBlocked: boolean): void;
  post(frames: FramesToSend, left: () => void): void;
}

export function channelEnds(channel: EndedChannel): ChannelEnds {
  return {
    reader: plainActor(({ input: { router } }) => {
      channel.readTo(router);
      return {
        receive: ({ type }) => channel.flow(type === 'output.blocked'),
        stop: () => channel.readTo(undefined),
      };
    }),
    writer: plainActor(({ input: { owner } }) => new HttpWriter(channel, owner)),
  };
}

/** `blocked`: more waits than may, the connection knows. */
class HttpWriter implements Behaviour<WriterEvent> {
  readonly #channel: EndedChannel;
  readonly #owner: Ref<TransportFact>;
  #state: 'flowing' | 'blocked' | 'ended' = 'flowing';

  constructor(channel: EndedChannel, owner: Ref<TransportFact>) {
    this.#channel = channel;
    this.#owner = owner;
  }

  get view(): object {
    return this.#channel.view;
  }

  receive(event: WriterEvent): void {
    // Nothing is kept that has not been handed to the platform, or is counted.
    if (event.type === 'output.flush') this.#owner.send({ type: 'output.flushed' });
    if (event.type !== 'frames.send') return;
    this.#channel.post(
      this.#state === 'blocked' ? this.#withoutRequests(event) : event,
      this.#left,
    );
    if (this.#state !== 'flowing' || !this.#channel.isFull) return;
    this.#state = 'blocked';
    this.#owner.send({ type: 'output.blocked' });
  }

  stop(): void {
    this.#state = 'ended';
  }

  /** New requests are refused; answers and notifications are not, the server may wait for them. */
  #withoutRequests(event: FramesToSend): FramesToSend {
    const isRequest = (frame: object): boolean => 'method' in frame && 'id' in frame;
    const message = 'The server takes nothing: too much waits for it already';
    for (const frame of event.frames.filter(isRequest)) {
      event.rejected?.(new RuntimeError('LIMIT_EXCEEDED', message), frame);
    }
    return { ...event, frames: event.frames.filter((frame) => !isRequest(frame)) };
  }

  readonly #left = (): void => {
    if (this.#state !== 'blocked' || this.#channel.isFull) return;
    this.#state = 'flowing';
    this.#owner.send({ type: 'output.flowing' });
  };
}
