/**
 * The reader and the writer of a connection, whose logic comes with each channel: what passes is
 * observed, and says who it is from.
 */
import type { Traffic } from '../../actors/traffic.ts';
import type { ChannelEvent, ChannelInput } from '../../machines/connection-ports.ts';
import type { OfChannel } from '../../machines/connection-context.ts';
import type {
  FramesToSend,
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  WriterEvent,
  WriterInput,
} from '../../machines/peer-ports.ts';
import type { Port, PortSnapshot, Ref } from '../../machines/port.ts';
import type { OutboundFrame } from '../../protocol/frames.ts';
import { connectionIn } from './connection-scope.ts';
import type { ConnectionScope } from './connection-scope.ts';
import { enveloped } from './enveloped.ts';

/** A port of the shared machine that runs the logic that its input names. */
function portOf<TEvent extends { readonly type: string }, TInput>(
  logicOf: (input: TInput) => Port<TEvent, TInput>,
): Port<TEvent, TInput> {
  const logicIn = ({ input }: PortSnapshot<TEvent, TInput>) => logicOf(input);
  return {
    getInitialSnapshot: (actorScope, input) => logicOf(input).getInitialSnapshot(actorScope, input),
    start: (snapshot, actorScope) => logicIn(snapshot).start?.(snapshot, actorScope),
    transition: (snapshot, event, actorScope) =>
      logicIn(snapshot).transition(snapshot, event, actorScope),
    getPersistedSnapshot: (snapshot, options) =>
      logicIn(snapshot).getPersistedSnapshot(snapshot, options),
  };
}

/** The channel of a connection. */
export const channelPort = portOf<ChannelEvent, ChannelInput>(
  (input) => connectionIn(input).channel,
);

const reading = portOf<ReaderEvent, ReaderInput & OfChannel>(({ ends }) => ends.reader as never);

/** The reader of a channel. Observes the frames that it hands to the router. */
export const readerPort: Port<ReaderEvent, ReaderInput & OfChannel> = {
  ...reading,
  getInitialSnapshot: (actorScope, input) => {
    const router = new ObservedRouter(input.router, connectionIn(input));
    return reading.getInitialSnapshot(actorScope, { ...input, router });
  },
};

/** The router, as a reader has it. */
class ObservedRouter implements Pick<Ref<RouterEvent>, 'send'> {
  readonly #router: Pick<Ref<RouterEvent>, 'send'>;
  readonly #traffic: Traffic;

  constructor(router: Pick<Ref<RouterEvent>, 'send'>, { traffic }: ConnectionScope) {
    this.#router = router;
    this.#traffic = traffic;
  }

  send(event: RouterEvent): void {
    if (event.type === 'frames.received') this.#traffic.received(event.frames);
    this.#router.send(event);
  }
}

const writing = portOf<WriterEvent, WriterInput & OfChannel>(({ ends }) => ends.writer as never);

/** The writer of a channel. Observes the frames that it gets. */
export const writerPort: Port<WriterEvent, WriterInput & OfChannel> = {
  ...writing,
  transition: (snapshot, event, actorScope) => {
    if (event.type !== 'frames.send') return writing.transition(snapshot, event, actorScope);
    const connection = connectionIn(snapshot.input);
    const sent = asServed(connection, event);
    if (sent.frames.length === 0) return snapshot;
    connection.traffic.sent(sent.frames);
    return writing.transition(snapshot, sent, actorScope);
  },
};

/**
 * What goes to a modern server: its requests say who they are from, and it is never answered, because
 * it may ask nothing.
 *
 * @see MCP 2026-07-28, basic, "Messages"
 */
function asServed(
  { served, parts, envelopes }: ConnectionScope,
  event: FramesToSend,
): FramesToSend {
  if (served?.era !== 'modern') return event;
  const envelope = envelopes.of(served.revision, parts.logLevel());
  const { frames, relatedTo, rejected, returned, taken } = event;
  for (const [at, frame] of frames.entries()) frames[at] = enveloped(frame, envelope);
  if (frames.every(isAsked)) return event;
  const asked = frames.filter(isAsked);
  return { type: 'frames.send', frames: asked, relatedTo, rejected, returned, taken };
}

function isAsked(frame: OutboundFrame): boolean {
  return 'method' in frame;
}
